package web

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

func TestBearerLetsPassOnlyAKnownLivingToken(t *testing.T) {
	clock := newClock()
	tokens := map[string]Token{}
	issue := func(change func(*Token)) string {
		plain, id, hash := NewToken()
		token := Token{ID: id, Name: "ci", Hash: hash, Scopes: []dlq.Scope{dlq.ScopeIngest}, Sources: []string{"wiki"}}
		change(&token)
		tokens[id] = token
		return plain
	}
	good := issue(func(*Token) {})
	soon := issue(func(t *Token) { t.ExpiresAt = clock.now().Add(time.Hour) })
	expired := issue(func(t *Token) { t.ExpiresAt = clock.now() })
	revoked := issue(func(t *Token) { t.Revoked = true })
	hashless := issue(func(t *Token) { t.Hash = nil })
	broken, brokenID, _ := NewToken()
	unknown, _, _ := NewToken()
	other := issue(func(*Token) {})
	swapped := good[:21] + other[21:] // the id of one with the secret of another

	lookup := func(_ context.Context, id string) (Token, bool, error) {
		if id == brokenID {
			return Token{}, false, errors.New("disk gone")
		}
		token, found := tokens[id]
		return token, found, nil
	}
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		e.POST("/api/v1/x", func(c echo.Context) error {
			actor, _ := ActorOf(c)
			if actor.Kind != dlq.ActorToken || actor.Name != "ci" || !actor.May(dlq.MayPark) || actor.SeesSource("hr") {
				t.Errorf("actor is %+v", actor)
			}
			return ok(c)
		}, Bearer(lookup, clock.now))
	})
	for name, c := range map[string]struct {
		path    string
		headers []string
		want    int
	}{
		"good":                  {"", []string{"Authorization", "Bearer " + good}, 200},
		"lower-case scheme":     {"", []string{"Authorization", "bearer " + good}, 200},
		"expires in an hour":    {"", []string{"Authorization", "Bearer " + soon}, 200},
		"expired this moment":   {"", []string{"Authorization", "Bearer " + expired}, 401},
		"revoked":               {"", []string{"Authorization", "Bearer " + revoked}, 401},
		"unknown":               {"", []string{"Authorization", "Bearer " + unknown}, 401},
		"a row without a hash":  {"", []string{"Authorization", "Bearer " + hashless}, 401},
		"another's secret":      {"", []string{"Authorization", "Bearer " + swapped}, 401},
		"none":                  {"", nil, 401},
		"empty":                 {"", []string{"Authorization", ""}, 401},
		"scheme alone":          {"", []string{"Authorization", "Bearer "}, 401},
		"no scheme":             {"", []string{"Authorization", good}, 401},
		"basic":                 {"", []string{"Authorization", "Basic " + good}, 401},
		"two headers":           {"", []string{"Authorization", "Bearer " + good, "Authorization", "Bearer " + good}, 401},
		"two tokens":            {"", []string{"Authorization", "Bearer " + good + ", Bearer " + good}, 401},
		"cut":                   {"", []string{"Authorization", "Bearer " + good[:len(good)-1]}, 401},
		"longer":                {"", []string{"Authorization", "Bearer " + good + "A"}, 401},
		"upper-case id":         {"", []string{"Authorization", "Bearer " + strings.ToUpper(good[:20]) + good[20:]}, 401},
		"in the address":        {"?token=" + good, nil, 401},
		"in both":               {"?token=" + good, []string{"Authorization", "Bearer " + good}, 401},
		"access_token":          {"?access_token=" + good, []string{"Authorization", "Bearer " + good}, 401},
		"in a cookie":           {"", []string{"Cookie", "token=" + good + "; Authorization=Bearer " + good}, 401},
		"the store has failed":  {"", []string{"Authorization", "Bearer " + broken}, 500},
		"injection for an id":   {"", []string{"Authorization", "Bearer dlo_' or 1=1 -- _" + good[21:]}, 401},
		"the hash for a secret": {"", []string{"Authorization", "Bearer " + good[:21] + newID()}, 401},
	} {
		answer, body := s.send(t, "POST", "/api/v1/x"+c.path, "", c.headers...)
		if answer.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, c.want)
		}
		if strings.Contains(body, good[21:]) {
			t.Errorf("%s: the answer repeats the token", name)
		}
	}
	clock.pass(time.Hour)
	if answer, _ := s.send(t, "POST", "/api/v1/x", "", "Authorization", "Bearer "+soon); answer.StatusCode != 401 {
		t.Errorf("an hour later: %d, want 401", answer.StatusCode)
	}
	if strings.Contains(s.log.String(), good[21:]) {
		t.Error("a token's secret is in the log")
	}
}

func TestNewTokenHasItsDocumentedShape(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		plain, id, hash := NewToken()
		if !regexp.MustCompile(`^dlo_[a-z2-7]{16}_[A-Za-z0-9_-]{43}$`).MatchString(plain) || !strings.HasPrefix(plain, "dlo_"+id+"_") || len(hash) != 32 || seen[plain] {
			t.Fatalf("token of %d characters, id %q, hash of %d bytes", len(plain), id, len(hash))
		}
		seen[plain] = true
	}
}
