package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

type order struct {
	Reason string            `json:"reason"`
	Expect int               `json:"expect"`
	Share  float64           `json:"share"`
	Held   bool              `json:"held"`
	Until  *time.Time        `json:"until"`
	Canary []int             `json:"canary"`
	Labels map[string]string `json:"labels"`
	Any    any               `json:"any"`
	Items  []struct {
		ID string `json:"id"`
	} `json:"items"`
	Hidden string `json:"-"`
	inner  string
}

var _ = order{}.inner // there to be left alone

func TestDecodeIntoReadsWhatFits(t *testing.T) {
	var got order
	err := DecodeInto([]byte(`{"reason":"x","expect":412,"share":0.2,"held":true,"until":"2026-01-31T12:00:00Z","canary":[1,5],"labels":{"a":"b"},"any":{"n":9007199254740993},"items":[{"id":"1"}]}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	until := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	want := order{Reason: "x", Expect: 412, Share: 0.2, Held: true, Until: &until, Canary: []int{1, 5}, Labels: map[string]string{"a": "b"},
		Any: map[string]any{"n": json.Number("9007199254740993")}}
	want.Items = append(want.Items, struct {
		ID string `json:"id"`
	}{"1"})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := DecodeInto([]byte(`{"reason":null,"until":null,"items":null}`), &order{}); err != nil {
		t.Errorf("null is as absent: %v", err)
	}
}

func TestDecodeIntoNamesEveryFault(t *testing.T) {
	for in, want := range map[string][]string{
		`[]`:             {""},
		`{"Reason":"x"}`: {"/Reason"},
		`{"REASON":"x"}`: {"/REASON"},
		`{"ſeason":"x"}`: {"/ſeason"},
		`{"role":"admin","expect":"7","share":"x","held":1,"until":"soon","canary":[1,"2",3.5],"labels":{"a":1},"items":[{"id":"1"},{"ID":"2"},7]}`: {
			"/canary/1", "/canary/2", "/expect", "/held", "/items/1/ID", "/items/2", "/labels/a", "/role", "/share", "/until"},
		`{"Hidden":"x"}`:   {"/Hidden"},
		`{"-":"x"}`:        {"/-"},
		`{"inner":"x"}`:    {"/inner"},
		`{"expect":1e30}`:  {"/expect"},
		`{"expect":1.5}`:   {"/expect"},
		`{"share":1e999}`:  {"/share"},
		`{"a/b~c":1}`:      {"/a~1b~0c"},
		`{"canary":{}}`:    {"/canary"},
		`{"labels":"a=b"}`: {"/labels"},
	} {
		var target order
		err := DecodeInto([]byte(in), &target)
		var known *dlq.Error
		if !errors.As(err, &known) || known.Kind != dlq.KindInvalid {
			t.Errorf("%s: %v, want KindInvalid", in, err)
			continue
		}
		var got []string
		for _, fault := range known.Faults {
			got = append(got, fault.Pointer)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: faults at %v, want %v", in, got, want)
		}
	}
	for _, in := range []string{``, `{"reason":"a","reason":"b"}`, `{} {}`, `{"any":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}`, "{\"reason\":\"\xff\"}"} {
		if err := DecodeInto([]byte(in), &order{}); dlq.KindOf(err) != dlq.KindMalformed {
			t.Errorf("%.40q: %v, want KindMalformed", in, err)
		}
	}
}

func TestReadJSONTakesUncompressedJSONOnly(t *testing.T) {
	s := startSite(t, ServerConfig{BodyLimit: 200}, func(e *echo.Echo) {
		e.POST("/api/order", func(c echo.Context) error {
			var target order
			if err := ReadJSON(c, &target); err != nil {
				return err
			}
			return JSON(c, 200, target.Reason)
		})
	})
	for name, c := range map[string]struct {
		body    string
		headers []string
		want    int
	}{
		"JSON":              {`{"reason":"x"}`, []string{"Content-Type", "application/json"}, 200},
		"with a charset":    {`{"reason":"x"}`, []string{"Content-Type", "application/json; charset=UTF-8"}, 200},
		"identity":          {`{"reason":"x"}`, []string{"Content-Type", "application/json", "Content-Encoding", "identity"}, 200},
		"another charset":   {`{"reason":"x"}`, []string{"Content-Type", "application/json; charset=utf-16"}, 415},
		"no type":           {`{"reason":"x"}`, nil, 415},
		"a form":            {`{"reason":"x"}`, []string{"Content-Type", form}, 415},
		"text":              {`{"reason":"x"}`, []string{"Content-Type", "text/plain"}, 415},
		"gzip":              {`{"reason":"x"}`, []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, 415},
		"a duplicate":       {`{"reason":"x","reason":"y"}`, []string{"Content-Type", "application/json"}, 400},
		"a second document": {`{"reason":"x"}{}`, []string{"Content-Type", "application/json"}, 400},
		"too large":         {`{"reason":"` + strings.Repeat("x", 300) + `"}`, []string{"Content-Type", "application/json"}, 413},
	} {
		if answer, body := s.send(t, "POST", "/api/order", c.body, c.headers...); answer.StatusCode != c.want {
			t.Errorf("%s: %d %s, want %d", name, answer.StatusCode, body, c.want)
		}
	}
	_, body := s.send(t, "POST", "/api/order", `{"reason":"<&>"}`, "Content-Type", "application/json")
	if body != `"<&>"`+"\n" {
		t.Errorf("got %s", body)
	}
	_, body = s.send(t, "POST", "/api/order", `{"reason":"x","Reason":"y"}`, "Content-Type", "application/json")
	if !strings.Contains(body, `"pointer":"/Reason"`) {
		t.Errorf("the problem does not say where: %s", body)
	}
}

func TestLinesGoesOnAfterALineThatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	input := "{\"a\":1}\n" + long + "\n\n  \r\n{\"b\":2}\r\n" + strings.Repeat("y", 16) + "\n" + strings.Repeat("z", 16) + "\r\n" + strings.Repeat("w", 17) + "\nlast"
	lines := NewLines(strings.NewReader(input), 16)
	type seen struct {
		number int
		text   string
		kind   dlq.Kind
	}
	var got []seen
	for lines.Next() {
		line := lines.Line()
		got = append(got, seen{line.Number, string(line.Bytes), dlq.KindOf(line.Err)})
	}
	want := []seen{{1, `{"a":1}`, ""}, {2, "", dlq.KindTooLarge}, {5, `{"b":2}`, ""}, {6, strings.Repeat("y", 16), ""}, {7, strings.Repeat("z", 16), ""}, {8, "", dlq.KindTooLarge}, {9, "last", ""}}
	if !reflect.DeepEqual(got, want) || lines.Err() != nil {
		t.Errorf("got %v (%v), want %v", got, lines.Err(), want)
	}
}

func TestLinesKeepsNoHugeLineInMemory(t *testing.T) {
	lines := NewLines(io.LimitReader(endless{}, 64<<20), 1000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if !lines.Next() || dlq.KindOf(lines.Line().Err) != dlq.KindTooLarge {
		t.Fatal("want one line that is too long")
	}
	if lines.Line().Bytes != nil || lines.Next() {
		t.Error("want nothing of it, and nothing after it")
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("a line of 64 MiB took %d bytes", grown)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLinesTellsAnEndFromABreak(t *testing.T) {
	body := http.MaxBytesReader(nil, io.NopCloser(bytes.NewReader([]byte("one\ntwo\nthree\n"))), 10)
	lines := NewLines(body, 100)
	var got []string
	for lines.Next() {
		got = append(got, string(lines.Line().Bytes))
	}
	if !reflect.DeepEqual(got, []string{"one", "two"}) {
		t.Errorf("got %v: half a line must not count", got)
	}
	if dlq.KindOf(lines.Err()) != dlq.KindTooLarge {
		t.Errorf("broke off with %v", lines.Err())
	}
	broken := NewLines(io.MultiReader(strings.NewReader("one\ntw"), failingReader{}), 100)
	for broken.Next() {
		if string(broken.Line().Bytes) != "one" {
			t.Errorf("read %q", broken.Line().Bytes)
		}
	}
	if dlq.KindOf(broken.Err()) != dlq.KindMalformed {
		t.Errorf("broke off with %v", broken.Err())
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nccccccccc\n"), 4)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		limit = 1 + (limit&0xff+256)%256
		lines := NewLines(bytes.NewReader(in), limit)
		var want []string
		for _, line := range strings.Split(string(in), "\n") {
			line = strings.TrimSuffix(line, "\r")
			if len(line) > limit {
				want = append(want, "too long")
			} else if len(bytes.TrimSpace([]byte(line))) > 0 {
				want = append(want, line)
			}
		}
		var got []string
		for lines.Next() {
			text := string(lines.Line().Bytes)
			if lines.Line().Err != nil {
				text = "too long"
			}
			got = append(got, text)
		}
		if lines.Err() != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q with limit %d: got %q, want %q", in, limit, got, want)
		}
	})
}
