package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// secretPrefix marks a secret of Standard Webhooks 1.0.
const secretPrefix = "whsec_"

var errSecret = errors.New("the secret is not whsec_ and the base64 of 24 to 64 bytes")

// Sign gives the value of webhook-signature: v1 and the base64 of HMAC-SHA256
// over id, seconds and body, joined by full stops, under the key that the
// secret's base64 part stands for.
func Sign(secret, id string, at time.Time, body []byte) (string, error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return "", errSecret
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) < 24 || len(key) > 64 {
		return "", errSecret // the decoder's own error would quote a byte of it
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}
