package web

import (
	"encoding/json"
	"fmt"

	"github.com/gorilla/sessions"
	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

// Flash is a message that the next page shows once. It is data, not markup:
// the page decides how it looks.
type Flash struct {
	Tone     string `json:"tone"` // "good", "info", "warn" or "bad"
	Text     string `json:"text"`
	LinkText string `json:"link_text,omitempty"`
	Link     string `json:"link,omitempty"` // a path of ours
}

// The names under which a session keeps its own values, and the one under
// which gorilla/sessions keeps flashes.
const (
	roleValue      = "role"
	confirmedValue = "confirmed"
	flashesValue   = "_flash"
)

// AddFlash keeps a message for the next page of the signed-in person.
func AddFlash(c echo.Context, flash Flash) error {
	session, ok := c.Get(sessionKey).(*sessions.Session)
	if !ok {
		return dlq.Errorf(dlq.KindUnauthenticated, "Sign in first.")
	}
	session.AddFlash(flash)
	return session.Save(c.Request(), c.Response())
}

// Flashes gives the messages that are waiting, oldest first, and forgets them.
func Flashes(c echo.Context) ([]Flash, error) {
	session, ok := c.Get(sessionKey).(*sessions.Session)
	if !ok {
		return nil, nil
	}
	waiting := session.Flashes()
	if len(waiting) == 0 {
		return nil, nil
	}
	flashes := make([]Flash, 0, len(waiting))
	for _, value := range waiting {
		if flash, ok := value.(Flash); ok {
			flashes = append(flashes, flash)
		}
	}
	return flashes, session.Save(c.Request(), c.Response())
}

// sessionData is a session's Values as they are stored: JSON rather than gob,
// which would have to know every type and would fail on old rows after a
// change.
type sessionData struct {
	Values  map[string]string `json:"values,omitempty"`
	Flashes []Flash           `json:"flashes,omitempty"`
}

func encodeSession(values map[any]any) ([]byte, error) {
	data := sessionData{Values: map[string]string{}}
	for key, value := range values {
		if key == (rowKey{}) {
			continue
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("a session's value has a %T for its name, a string expected", key)
		}
		switch value := value.(type) {
		case string:
			data.Values[name] = value
		case []any:
			for _, item := range value {
				flash, ok := item.(Flash)
				if !ok || name != flashesValue {
					return nil, fmt.Errorf("a session keeps strings and flashes, not the %T under %q", item, name)
				}
				data.Flashes = append(data.Flashes, flash)
			}
		default:
			return nil, fmt.Errorf("a session keeps strings and flashes, not the %T under %q", value, name)
		}
	}
	return json.Marshal(data)
}

func decodeSession(text []byte, values map[any]any) error {
	var data sessionData
	if err := json.Unmarshal(text, &data); err != nil {
		return err
	}
	for name, value := range data.Values {
		values[name] = value
	}
	if len(data.Flashes) > 0 {
		flashes := make([]any, len(data.Flashes))
		for i, flash := range data.Flashes {
			flashes[i] = flash
		}
		values[flashesValue] = flashes
	}
	return nil
}
