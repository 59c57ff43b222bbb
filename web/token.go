package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

// tokenPrefix begins every token, so that scanners for leaked secrets and
// people can tell what it is.
const tokenPrefix = "dlo_"

// Token is what is kept of a bearer token.
type Token struct {
	ID        string
	Name      string
	Hash      []byte // SHA-256 of the whole token; it is random, so a fast hash does
	Scopes    []dlq.Scope
	Sources   []string  // limited to these; empty: all
	ExpiresAt time.Time // zero: never
	Revoked   bool
}

// Actor is the token's holder as the one who acts.
func (t Token) Actor() dlq.Actor {
	return dlq.Actor{Kind: dlq.ActorToken, ID: t.ID, Name: t.Name, Scopes: t.Scopes, Sources: t.Sources}
}

// TokenLookup finds a token by its public id; false where there is none.
type TokenLookup func(ctx context.Context, id string) (Token, bool, error)

// NewToken makes a token of 256 random bits, `dlo_<id>_<secret>`: plain is to
// be shown once, id and hash to be kept.
func NewToken() (plain, id string, hash []byte) {
	raw := make([]byte, 10)
	rand.Read(raw)
	id = lowerBase32.EncodeToString(raw)
	plain = tokenPrefix + id + "_" + newID()
	return plain, id, HashToken(plain)
}

// HashToken is the form in which a token is stored.
func HashToken(plain string) []byte {
	sum := sha256.Sum256([]byte(plain))
	return sum[:]
}

// Bearer lets pass requests with a valid token in the Authorization header
// (RFC 6750 §2.1) and sets the actor. A token in the address is refused even
// beside a good header, because addresses end up in logs; cookies are not
// looked at. Whatever is wrong, the answer is the same, so that nothing is
// learnt about which ids exist.
func Bearer(lookup TokenLookup, now func() time.Time) echo.MiddlewareFunc {
	refused := func() error {
		return dlq.Errorf(dlq.KindUnauthenticated, "A valid token is needed: send it as Authorization: Bearer <token>.")
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			query := c.Request().URL.Query()
			if query.Has("token") || query.Has("access_token") {
				return dlq.Errorf(dlq.KindUnauthenticated, "A token in the address is not accepted, because addresses are logged. Revoke it, and send a new one as Authorization: Bearer <token>.")
			}
			plain, ok := bearerToken(c.Request().Header["Authorization"])
			if !ok {
				return refused()
			}
			id, ok := tokenID(plain)
			if !ok {
				return refused()
			}
			token, found, err := lookup(c.Request().Context(), id)
			if err != nil {
				return fmt.Errorf("look up token %s: %w", id, err)
			}
			match := subtle.ConstantTimeCompare(HashToken(plain), token.Hash) == 1
			if !found || !match || token.Revoked || !token.ExpiresAt.IsZero() && !now().Before(token.ExpiresAt) {
				return refused()
			}
			SetActor(c, token.Actor())
			return next(c)
		}
	}
}

// bearerToken reads the credentials if there is exactly one header field.
func bearerToken(fields []string) (string, bool) {
	if len(fields) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(fields[0], " ")
	return strings.TrimLeft(token, " "), ok && strings.EqualFold(scheme, "Bearer")
}

// tokenID takes the public part out of a well-formed token.
func tokenID(plain string) (string, bool) {
	rest, ok := strings.CutPrefix(plain, tokenPrefix)
	if !ok {
		return "", false
	}
	id, secret, ok := strings.Cut(rest, "_")
	if !ok || len(id) != 16 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return "", false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	return id, err == nil && len(raw) == 32
}
