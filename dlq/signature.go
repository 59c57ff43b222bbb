package dlq

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// SignatureTolerance is how far the timestamp of a signed message may lie from
// now, either way.
const SignatureTolerance = 5 * time.Minute

// secretWord begins a secret of Standard Webhooks 1.0.
const secretWord = "whsec_"

// ErrSecret says that a secret cannot sign. It does not repeat it.
var ErrSecret = errors.New("a webhook secret must be whsec_ and the base64 of 24 to 64 bytes")

// ErrUnsigned says that a message is not proven to come from who holds a secret.
var ErrUnsigned = errors.New("the message's signature is not valid")

// ValidSecret says whether a secret can sign.
func ValidSecret(secret string) bool {
	_, err := signingKey(secret)
	return err == nil
}

func signingKey(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, secretWord)
	if !ok {
		return nil, ErrSecret
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, ErrSecret // the decoder's own error would quote a byte of it
	}
	return key, nil
}

// Signature gives the value of webhook-signature under one secret: v1 and the
// base64 of HMAC-SHA256 over id, seconds and body, joined by full stops, under
// the key that the secret's base64 part stands for.
func Signature(secret, id string, at time.Time, body []byte) (string, error) {
	key, err := signingKey(secret)
	if err != nil {
		return "", err
	}
	return "v1," + base64.StdEncoding.EncodeToString(signed(key, id, strconv.FormatInt(at.Unix(), 10), body)), nil
}

func signed(key []byte, id, stamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// CheckSignature checks a message as Standard Webhooks 1.0 has it: one of the
// signatures in webhook-signature, which stand with blanks between, must be by
// one of the secrets, over webhook-id, webhook-timestamp and the body. It gives
// the time that was signed. The error is ErrUnsigned, or ErrSecret where a secret
// itself is of no use.
//
// Ids are not remembered: a message is repeated under its id when its answer was
// lost, so that whoever takes it must be able to take it twice.
func CheckSignature(h http.Header, body []byte, secrets []string, now time.Time) (time.Time, error) {
	id, stamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if id == "" || err != nil {
		return time.Time{}, ErrUnsigned
	}
	at := time.Unix(seconds, 0).UTC()
	if age := now.Sub(at); age > SignatureTolerance || age < -SignatureTolerance {
		return at, ErrUnsigned
	}
	fits := false
	for _, secret := range secrets {
		key, err := signingKey(secret)
		if err != nil {
			return at, err
		}
		digest := signed(key, id, stamp, body)
		for _, s := range strings.Fields(strings.Join(h.Values("webhook-signature"), " ")) {
			encoded, isV1 := strings.CutPrefix(s, "v1,")
			if !isV1 {
				continue
			}
			given, err := base64.StdEncoding.DecodeString(encoded)
			fits = (err == nil && hmac.Equal(given, digest)) || fits // hmac.Equal takes the same time whatever differs
		}
	}
	if !fits {
		return at, ErrUnsigned
	}
	return at, nil
}
