package webhook

import (
	"time"

	"dlo/dlq"
)

// Sign gives the value of webhook-signature under one secret. Where two secrets
// stand, their signatures are set with a blank between.
func Sign(secret, id string, at time.Time, body []byte) (string, error) {
	return dlq.Signature(secret, id, at, body)
}
