package handlers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"time"

	"dlo/dlq"
)

// SignedLinks makes and checks the links under which a pipeline fetches a stored
// copy: for one payload alone, and void after a time.
type SignedLinks struct {
	Key  []byte
	Base *url.URL // the address of this server; nil: no link can be made
}

// Link gives the link, or nothing where the server's address is not known.
func (l SignedLinks) Link(digest string, expires time.Time) string {
	if l.Base == nil {
		return ""
	}
	until := strconv.FormatInt(expires.Unix(), 10)
	u := l.Base.JoinPath("api", "v1", "payloads", digest)
	u.RawQuery = url.Values{"expires": {until}, "signature": {l.sign(digest, until)}}.Encode()
	return u.String()
}

func (l SignedLinks) sign(digest, until string) string {
	mac := hmac.New(sha256.New, l.Key)
	mac.Write([]byte("payload\x00" + digest + "\x00" + until))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Check refuses a link that was not made here, or whose time is over.
func (l SignedLinks) Check(digest, expires, signature string, now time.Time) error {
	if !hmac.Equal([]byte(signature), []byte(l.sign(digest, expires))) {
		return dlq.Errorf(dlq.KindForbidden, "this link does not open this payload")
	}
	until, err := strconv.ParseInt(expires, 10, 64)
	if err != nil || now.Unix() >= until {
		return dlq.Errorf(dlq.KindGone, "this link has expired; the redrive must be sent anew")
	}
	return nil
}
