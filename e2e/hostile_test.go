package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"
)

// mark is part of every hostile string that runs something: what would run sets
// it on the window.
const mark = "window.__pwned=1"

// hostileTexts are strings that run something where a page forgets to escape
// them, or that try to make a page say something else than it does. stranger is
// a host that no page may ask.
func hostileTexts(stranger string) []string {
	return []string{
		`<script>` + mark + `</script>`,
		`"><svg onload=` + mark + `>`,
		`'><img src=x onerror=` + mark + `>`,
		`<img src=` + stranger + `/pixel>`,
		`<div hx-get="` + stranger + `/get" hx-trigger="load">x</div>`,
		`<div hx-on::load="` + mark + `" hx-on:htmx:load="` + mark + `">x</div>`,
		`<div data-hx-get="/logout" data-hx-trigger="load" data-hx-on:load="` + mark + `">x</div>`,
		`</textarea></pre></template><script>` + mark + `</script>`,
		`</script><script>` + mark + `</script>`,
		`</style><link rel=stylesheet href=` + stranger + `/style.css>`,
		`javascript:` + mark,
		`data:text/html,<script>` + mark + `</script>`,
		`[click](javascript:` + mark + `) ![x](` + stranger + `/md) <b onmouseover=` + mark + `>`,
		`{{.Password}} ${` + mark + `} <%= 1 %> {{constructor.constructor('` + mark + `')()}}`,
		"\x1b[2J\x1b]8;;" + stranger + "\x07red\x1b[0m",
		"lease\u202Efdp.exe \u2066hidden\u2069 a\u0000b \u200Bc \uFEFFd",
		`<form action=` + stranger + `/steal><input name=csrf><button autofocus>ok`,
		`<meta http-equiv=refresh content="0;url=` + stranger + `">`,
		`<base href=` + stranger + `>`,
		`<iframe srcdoc="<script>parent.` + strings.TrimPrefix(mark, "window.") + `</script>"></iframe>`,
	}
}

// hostilePayload gives each kind of preview something to swallow.
func hostilePayload(kind int, text string) (contentType, filename string, payload []byte) {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x1b", `\u001b`, "\x07", `\u0007`, "\x00", `\u0000`).Replace(text)
	switch kind % 5 {
	case 0:
		return "text/plain", "a.txt", []byte(text)
	case 1:
		return "text/csv", "a.csv", []byte("id,note\n1,\"" + strings.ReplaceAll(text, `"`, `""`) + "\"\n=cmd|'/C calc'!A0," + mark + "\n")
	case 2:
		return "application/json", "a.json", []byte(`{"` + quote + `": ["` + quote + `"]}`)
	case 3:
		return "text/html", "a.html", []byte("<!DOCTYPE html>" + text)
	}
	return "image/svg+xml", "a.svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="` + mark + `"><script>` + mark + `</script></svg>`)
}

// clean is a text as the API takes it in fields that refuse control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// visible is a text as the API takes it in fields of one line.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}

// TestNothingThatAStrangerSentRunsOrLeavesThePage parks hostile strings in every
// field that a page shows, and visits the pages that show them.
func TestNothingThatAStrangerSentRunsOrLeavesThePage(t *testing.T) {
	d := sharedDemo(t)
	office := d.api(t)
	texts := hostileTexts("http://stranger.invalid")
	var ids, sources []string
	for i, text := range texts {
		contentType, filename, payload := hostilePayload(i, text)
		source := clean(text)
		source = source[:min(len(source), 100)]
		envelope := map[string]any{
			"source": source, "doc_id": clean(text) + fmt.Sprint(i), "error_type": text, "error_message": text, "error_class": clean(text)[:min(len(clean(text)), 40)],
			"stack_trace":       "Traceback (most recent call last):\n  File \"" + text + "\", line 1, in " + text + "\n    " + text + "\nValueError: " + text,
			"validation_output": []map[string]any{{"rule": text, "path": text, "message": text, "expected": text, "got": text, "passed": false}},
			"filename":          clean(text) + filename, "content_type": contentType, "source_url": "javascript:" + mark, "source_version": `"` + clean(text) + `"`,
			"parser_version": clean(text), "versions": map[string]string{"ocr": clean(text)}, "labels": map[string]string{"note": text}, "unknown_field": text,
			"payload": base64.StdEncoding.EncodeToString(payload), "payload_encoding": "base64",
		}
		var parked struct {
			DLQID string `json:"dlq_id"`
		}
		office.must(http.MethodPost, "/dead-letters", envelope, &parked)
		ids, sources = append(ids, parked.DLQID), append(sources, source)
		office.must(http.MethodPost, "/dead-letters/"+parked.DLQID+"/notes", map[string]string{"note": strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")}, nil)
		if status, _ := office.call(http.MethodPost, "/dead-letters/"+parked.DLQID+"/assign", map[string]string{"ticket": "javascript:" + mark}, nil); status != http.StatusUnprocessableEntity {
			t.Errorf("a ticket that is a script was answered %d", status)
		}
		office.must(http.MethodPost, "/dead-letters/"+parked.DLQID+"/assign", map[string]string{"owner": visible(text), "ticket": `https://stranger.invalid/"onclick=` + mark}, nil)
		office.must(http.MethodPost, "/dead-letters/"+parked.DLQID+"/quarantine", map[string]string{"reason": text}, nil)
	}

	b := d.signIn(t, "reviewer")
	visit := func(path string) {
		t.Helper()
		if status := b.open(d.address + path); status != http.StatusOK {
			t.Errorf("%s answers %d", path, status)
		}
		if evaluate[bool](b, `"__pwned" in window`) {
			t.Fatalf("something ran on %s", path)
		}
		if n := evaluate[int](b, `document.querySelectorAll("main script, main iframe:not([sandbox]), main object, main embed, main base, main meta, main [onload], main [onerror], main [onmouseover], main [hx-on], main img[src^='http'], main a[href^='javascript:' i], main a[href^='data:' i], main form[action^='http']").length`); n > 0 {
			t.Errorf("%s holds %d elements that a stranger wrote", path, n)
		}
		if at := b.at(); at != path {
			t.Errorf("%s led to %s", path, at)
		}
	}
	for _, path := range []string{"/cohorts", "/entries?q=status:open", "/quarantine", "/sources", "/alerts", "/audit", "/operations"} {
		visit(path)
	}
	for i, id := range ids {
		visit("/entries/" + id)
		visit("/entries/" + id + "?view=hex")
		visit("/confirm?action=release&back=%2Fentries&id=" + id)
		var e entry
		office.must(http.MethodGet, "/dead-letters/"+id, nil, &e)
		if i%4 == 0 {
			visit("/cohorts/" + e.Cohort)
			visit("/sources/" + url.PathEscape(sources[i]))
			visit("/entries?q=" + url.QueryEscape(`"`+strings.NewReplacer(`"`, "", `\`, "").Replace(clean(texts[i]))+`"`))
		}
	}
	b.quiet(d.address)
}
