package fingerprint

import (
	"strings"
	"testing"
)

func TestJavaScriptErrorNeedsItsMessage(t *testing.T) {
	plain := changed(t, nodeTrace, "HeaderError:", "Error:")
	wantApart(t, plain, changed(t, plain, "bad magic 0x0001 at 512", "corrupted header"))
	wantSame(t, plain, changed(t, plain, "at 512", "at 9"))
	wantSame(t, nodeTrace, changed(t, nodeTrace, "bad magic 0x0001 at 512", "corrupted header"))
}

func TestJavaScriptFramesAreNormalised(t *testing.T) {
	for line, want := range map[string]string{
		"    at Header.parse (/a/header.js:12:9)":                                          "parse@header.js",
		"    at async Object.readSync [as read] (/a/xlsx.js:1:2)":                          "readSync@xlsx.js",
		"    at new Doc (file:///a/doc.mjs:1:2)":                                           "new Doc@doc.mjs",
		"    at Object.<anonymous> (/a/b.js:1:2)":                                          "<anonymous>@b.js",
		"    at Object.eval (webpack-internal:///(sc_server)/./node_modules/p/pdf.js:1:2)": "<anonymous>@pdf.js",
		"    at /a/load.js:48:24":                                                          "<anonymous>@load.js",
		"    at https://cdn.example.com/app/main.3f2a91bc.js?v=3:1:2":                      "<anonymous>@main.js",
		"    at read (C:\\app\\reader.js:1:2) {":                                           "read@reader.js",
		"    at node:internal/main/run_main_module:28:49":                                  "<anonymous>@node:internal/main/run_main_module",
	} {
		f := jsFrame(line)
		if f == nil || f.String() != want {
			t.Errorf("%s read as %v, want %s", line, f, want)
		}
	}
	for _, line := range []string{
		"    at async Promise.all (index 0)", "    at Array.map (<anonymous>)", "    at new Promise (<anonymous>)", "\tat com.a.B.c(B.java:9)", "   at Acme.Reader.Read()", "at least one of 3: 4",
	} {
		if f := jsFrame(line); f != nil {
			t.Errorf("%s read as %v, want nothing", line, f)
		}
	}
}

// jsLoadTime is the stack that a vendored library takes of itself while it loads.
func jsLoadTime(closure, properties string) string {
	return "Error\n    at " + closure + " (/a/node_modules/pdf/pdf.js:452:35)\n    at Object.<anonymous> (/a/node_modules/pdf/pdf.js:455:2)\n    at __w_pdfjs_require__ (/a/node_modules/pdf/pdf.js:45:30) {\n" + properties + "}\n"
}

func TestJavaScriptLoadTimeStackIsNamedByItsProperty(t *testing.T) {
	invalid := jsLoadTime("BaseExceptionClosure", "  message: 'Invalid PDF structure.',\n  name: 'InvalidPDFException'\n")
	locked := jsLoadTime("BaseExceptionClosure", "  message: 'No password given',\n  name: 'PasswordException',\n  code: 1\n")
	if r := ofTrace(invalid); r.Type != "InvalidPDFException" || r.Message != "Invalid PDF structure." {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
	wantApart(t, invalid, locked)
}

func TestJavaScriptLoadTimeStackWithoutANameNeedsTheMessage(t *testing.T) {
	wantApart(t, jsLoadTime("BaseExceptionClosure", "  message: 'Invalid PDF structure'\n"), jsLoadTime("BaseExceptionClosure", "  message: 'No password given'\n"))
	// A closure of the class's own names it, so the message is not needed.
	wantSame(t, jsLoadTime("LockedExceptionClosure", "  message: 'No password given'\n"), jsLoadTime("LockedExceptionClosure", ""))
	wantApart(t, jsLoadTime("LockedExceptionClosure", ""), jsLoadTime("BrokenExceptionClosure", ""))
}

const jsInner = `Error: Corrupted zip
      at readEnd (/a/node_modules/zip/entries.js:167:23)
      at load (/a/node_modules/zip/load.js:48:24)
      ... 4 lines matching cause stack trace ...
      at main (/a/src/ingest.js:39:3)`

func TestJavaScriptCauseIsTheRoot(t *testing.T) {
	wrapped := func(cause string) string {
		return "StageError: document 7f3a failed\n    at stage (/a/src/ingest.js:43:31) {\n  [cause]: " + cause + "\n}\n"
	}
	r := ofTrace(wrapped(jsInner))
	if r.Type != "StageError" || r.RootType != "Error" || r.Message != "document 7f3a failed" {
		t.Errorf("type %q, root %q, message %q", r.Type, r.RootType, r.Message)
	}
	wantFrames(t, r, "readEnd@entries.js", "load@load.js", "main@ingest.js")
	wantApart(t, wrapped(jsInner), wrapped(strings.Replace(jsInner, "Corrupted zip", "Encrypted zip", 1)))
	wantSame(t, wrapped(jsInner), strings.Replace(wrapped(jsInner), "[cause]", "cause", 1))
}

func TestJavaScriptFetchFailedIsItsCause(t *testing.T) {
	fetch := func(cause string) string {
		return "TypeError: fetch failed\n    at node:internal/deps/undici/undici:14976:13\n    at async extract (/a/src/ingest.js:28:27) {\n  [cause]: " + cause + "\n}\n"
	}
	refused := "Error: connect ECONNREFUSED 127.0.0.1:59999\n      at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16) {\n    code: 'ECONNREFUSED'\n  }"
	slow := "ConnectTimeoutError: Connect Timeout Error\n      at onConnectTimeout (node:internal/deps/undici/undici:8380:28) {\n    code: 'UND_ERR_CONNECT_TIMEOUT'\n  }"
	wantApart(t, fetch(refused), fetch(slow))
	wantSame(t, fetch(refused), fetch(strings.Replace(refused, "127.0.0.1:59999", "10.0.0.7:443", 1)))
	if r := ofTrace(fetch(slow)); r.Type != "ConnectTimeoutError" {
		t.Errorf("type %q", r.Type)
	}
}

func TestJavaScriptAggregateIsItsDistinctErrors(t *testing.T) {
	item := func(message string) string {
		return "    Error: " + message + "\n        at async open (/a/src/files.js:637:25)\n        at async main (/a/src/ingest.js:39:3) {\n      errno: -2\n    }"
	}
	aggregate := func(items ...string) string {
		return "[AggregateError: All promises were rejected] {\n  [errors]: [\n" + strings.Join(items, ",\n") + "\n  ]\n}\n"
	}
	missing, denied := item("no such file, open '/data/in/a.pdf'"), item("permission denied")
	r := ofTrace(aggregate(missing, denied))
	if r.Type != "AggregateError" || strings.Count(r.Canonical, "\nleaf=") != 2 {
		t.Errorf("type %q, canonical %q", r.Type, r.Canonical)
	}
	wantSame(t, aggregate(missing, denied), aggregate(denied, missing))
	one := aggregate(missing, item("no such file, open '/data/in/b.pdf'"))
	if r := ofTrace(one); r.Type != "Error" {
		t.Errorf("two errors of one defect have type %q", r.Type)
	}
}

func TestJavaScriptHeaderIsFoundAmongWhatWasPrinted(t *testing.T) {
	for _, around := range []string{
		"Warning: Indexing all PDF objects\n", "Uncaught ", "/srv/app/src/worker.js:12\n    throw new HeaderError()\n    ^\n\n", "Trying to parse invalid object: {\"line\":12})\n",
	} {
		wantSame(t, nodeTrace, around+nodeTrace+"\nNode.js v20.11.0\n")
	}
	wantSame(t, nodeTrace, changed(t, nodeTrace, "HeaderError:", "HeaderError [ERR_BAD_HEADER]:"))
}

func TestJavaScriptErrorPrintedLaterIsNotRead(t *testing.T) {
	first := "HeaderError: x\n    at parse (/a/node_modules/h/header.js:1:2)\n"
	wantSame(t, first, first+"\n"+nodeTrace)
}

func TestJavaScriptStackOverflowIsItsCycle(t *testing.T) {
	trace := func(top, n int) string {
		return "RangeError: Maximum call stack size exceeded\n" + strings.Repeat("    at hash (/a/map.js:1:1)\n", top) + strings.Repeat("    at walk (/a/tree.js:1:1)\n    at visit (/a/node.js:2:2)\n", n)
	}
	wantSame(t, trace(1, 4), trace(0, 5))
	if got := ofTrace(trace(1, 4)).Confidence; got != ConfidenceLow {
		t.Errorf("confidence %s", got)
	}
}
