package fingerprint

import (
	"strings"
	"testing"
)

func TestJavaScriptEnginesPrintTheSameStack(t *testing.T) {
	frames := []string{"parse@header.js", "read@reader.js", "run@worker.js"}
	for engine, trace := range map[string]string{
		"V8":                "HeaderError: bad magic\n    at parse (/srv/lib/header.js:12:9)\n    at read (/srv/lib/reader.js:88:20)\n    at async run (/srv/worker.js:41:3)\n",
		"Firefox":           "HeaderError: bad magic\nparse@http://localhost:3000/lib/header.js:12:9\nread@http://localhost:3000/lib/reader.js:88:20\nasync*run@http://localhost:3000/worker.js:41:3\n",
		"Safari":            "HeaderError: bad magic\nparse@http://localhost:3000/lib/header.js:12:9\nread@http://localhost:3000/lib/reader.js:88:20\n[native code]\nrun@http://localhost:3000/worker.js:41:3\n",
		"Hermes":            "HeaderError: bad magic\n    at parse (address at header.js:1:12044)\n    at read (address at reader.js:1:12077)\n    at run (address at worker.js:1:12091)\n",
		"Deno":              "error: Uncaught (in promise) HeaderError: bad magic\n    throw new HeaderError(`bad magic`);\n          ^\n    at parse (file:///srv/lib/header.js:12:9)\n    at read (file:///srv/lib/reader.js:88:20)\n    at async run (file:///srv/worker.js:41:3)\n",
		"Bun":               "10 |   }\n11 |   parse(block) {\n12 |     throw new HeaderError(\"bad magic\");\n               ^\nHeaderError: bad magic\n      at parse (/srv/lib/header.js:12:9)\n      at read (/srv/lib/reader.js:88:20)\n      at run (/srv/worker.js:41:3)\n\nBun v1.1.8 (Linux x64)\n",
		"webpack":           "HeaderError: bad magic\n    at parse (webpack:///./src/lib/header.js?:12:9)\n    at read (webpack-internal:///./src/lib/reader.js:88:20)\n    at run (webpack://app/./src/worker.js:41:3)\n",
		"Electron":          "HeaderError: bad magic\n    at parse (/opt/App/resources/app.asar/lib/header.js:12:9)\n    at read (/opt/App/resources/app.asar/lib/reader.js:88:20)\n    at run (/opt/App/resources/app.asar/worker.js:41:3)\n",
		"Node, uncaught":    "/srv/lib/header.js:12\n    throw new HeaderError('bad magic');\n    ^\n\nHeaderError: bad magic\n    at parse (/srv/lib/header.js:12:9)\n    at read (/srv/lib/reader.js:88:20)\n    at async run (/srv/worker.js:41:3)\n\nNode.js v20.11.0\n",
		"Node, a rejection": "(node:92567) UnhandledPromiseRejectionWarning: HeaderError: bad magic\n    at parse (/srv/lib/header.js:12:9)\n    at read (/srv/lib/reader.js:88:20)\n    at run (/srv/worker.js:41:3)\n(Use `node --trace-warnings ...` to show where the warning was created)\n(node:92567) UnhandledPromiseRejectionWarning: Unhandled promise rejection. (rejection id: 1)\n",
		"in an object":      "{\n  document: 'a.pdf',\n  error: HeaderError: bad magic\n      at parse (/srv/lib/header.js:12:9)\n      at read (/srv/lib/reader.js:88:20)\n      at async run (/srv/worker.js:41:3)\n}\n",
		"with properties":   "HeaderError: bad magic\n    at parse (/srv/lib/header.js:12:9)\n    at read (/srv/lib/reader.js:88:20)\n    at async run (/srv/worker.js:41:3) {\n  code: 'EMAGIC',\n  offset: 512\n}\n",
		"pino-pretty":       "[09:42:13.511] ERROR (4321): parse failed\n    err: {\n      \"type\": \"HeaderError\",\n      \"message\": \"bad magic\",\n      \"stack\":\n          HeaderError: bad magic\n              at parse (/srv/lib/header.js:12:9)\n              at read (/srv/lib/reader.js:88:20)\n              at async run (/srv/worker.js:41:3)\n    }\n",
		"jest":              "  ● invoices › refuses a broken header\n\n    HeaderError: bad magic\n\n      10 |   parse(block) {\n    > 12 |     throw new HeaderError('bad magic')\n         |           ^\n\n      at parse (src/lib/header.js:12:9)\n      at read (src/lib/reader.js:88:20)\n      at run (src/worker.js:41:3)\n",
		"vitest":            "HeaderError: bad magic\n ❯ parse src/lib/header.js:12:9\n ❯ read src/lib/reader.js:88:20\n ❯ run src/worker.js:41:3\n",
		"a worker thread":   "Uncaught HeaderError: bad magic\n    at parse (/srv/lib/header.js:12:9)\n    at read (/srv/lib/reader.js:88:20)\n    at run (/srv/worker.js:41:3)\nEmitted 'error' event on Worker instance at:\n    at Worker.[kOnErrorMessage] (node:internal/worker:326:10)\n    at MessagePort.emit (node:internal/worker/io:170:9)\n",
	} {
		t.Run(engine, func(t *testing.T) {
			r := ofTrace(trace)
			if r.Language != "javascript" || r.Type != "HeaderError" || r.Message != "bad magic" || r.RootType != "" {
				t.Errorf("language %q, type %q, message %q, root %q", r.Language, r.Type, r.Message, r.RootType)
			}
			wantFrames(t, r, frames...)
		})
	}
}

func TestJavaScriptBunNamesAPlainErrorInLowerCase(t *testing.T) {
	r := ofTrace("12 |     throw new Error(\"bad magic\");\n               ^\nerror: bad magic\n      at parse (/srv/lib/header.ts:12:9)\n")
	if r.Type != "Error" || r.Message != "bad magic" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
}

func TestJavaScriptFramesOfOtherMakesAreNormalised(t *testing.T) {
	for line, want := range map[string]string{
		"    at error (eval at <anonymous> (/srv/node_modules/pdf2json/lib/pdf.js:64:1), <anonymous>:195:9)": "error@<eval>",
		"    at async file:///srv/app.mjs:3:1":                                              "<anonymous>@app.mjs",
		"    at async Promise.all (index 0)":                                                "",
		"    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)": "processTicksAndRejections@node:internal/process/task_queues",
		"    at _0x3f2a91 (/srv/dist/index.min.js:1:12044)":                                 "_0x3f2a91@index.min.js",
		"    at e.exports (/srv/dist/main.js:1:12044)":                                      "exports@main.js",
		"    at Reader.<anonymous> (/srv/reader.js:1:2)":                                    "<anonymous>@reader.js",
		"    at Reader.[Symbol.asyncIterator] (/srv/reader.js:1:2)":                         "[Symbol.asyncIterator]@reader.js",
		"    at get Reader.size [as size] (/srv/reader.js:1:2)":                             "size@reader.js",
		"    at static Reader.open (/srv/reader.js:1:2)":                                    "open@reader.js",
		"    at Reader.#fill (/srv/reader.js:1:2)":                                          "#fill@reader.js",
		"    at read (C:\\Program Files\\app\\reader.js:1:2)":                               "read@reader.js",
		"    at read (/srv/a b/reader.js:1:2)":                                              "read@reader.js",
		"    at read (file:///C:/app/reader.js:1:2)":                                        "read@reader.js",
		"    at http://localhost:3000/static/js/main.chunk.js:1:2":                          "<anonymous>@main.chunk.js",
		"    at chunk (https://cdn.example.com/assets/index-BkF3a9Zx.js:1:2)":               "chunk@index.js",
		"    at wasm://wasm/0012ab34:wasm-function[12]:0x1a":                                "",
		"read@https://example.com/reader.js?v=7:1:2":                                        "read@reader.js",
		"Reader.prototype.read@https://example.com/reader.js:1:2":                           "read@reader.js",
		"read/<@https://example.com/reader.js:1:2":                                          "read@reader.js",
		"@https://example.com/reader.js:1:2":                                                "<anonymous>@reader.js",
		"someone@example.com:3:4":                                                           "",
		"global code@https://example.com/reader.js:1:2":                                     "<anonymous>@reader.js",
	} {
		f := jsFrame(line)
		switch {
		case f == nil && want != "":
			t.Errorf("%s read as nothing, want %s", line, want)
		case f != nil && f.String() != want:
			t.Errorf("%s read as %v, want %q", line, f, want)
		}
	}
}

func TestJavaScriptBundlersHashesDoNotCount(t *testing.T) {
	trace := "HeaderError: x\n    at parse (/srv/dist/chunk-3f2a91bc.js:1:2)\n    at read (https://cdn.example.com/assets/index.7de1f0aa12.js?v=3:1:2)\n"
	wantSame(t, trace, strings.NewReplacer("3f2a91bc", "99aa01de", "7de1f0aa12", "0f0e0d0c0b", "v=3", "v=4").Replace(trace))
}

func TestJavaScriptAggregateInACauseIsItsMembers(t *testing.T) {
	fetch := func(cause string) string {
		return "TypeError: fetch failed\n    at node:internal/deps/undici/undici:13178:13\n    at async extract (/srv/ingest.js:28:27) {\n  [cause]: " + cause + "}\n"
	}
	refused := "Error: connect ECONNREFUSED 127.0.0.1:443\n          at createConnectionError (node:net:1648:14)"
	slow := "Error: connect ETIMEDOUT 192.0.2.9:443\n          at createConnectionError (node:net:1648:14)"
	aggregate := func(members ...string) string {
		return "AggregateError [ECONNREFUSED]: \n      at internalConnectMultiple (node:net:1118:18)\n      at afterConnectMultiple (node:net:1685:7) {\n    code: 'ECONNREFUSED',\n    [errors]: [\n      " + strings.Join(members, ",\n      ") + "\n    ]\n  }\n"
	}
	r := ofTrace(fetch(aggregate(refused, slow)))
	if r.Type != "AggregateError" || strings.Count(r.Canonical, "\nleaf=") != 2 {
		t.Errorf("type %q, canonical\n%s", r.Type, r.Canonical)
	}
	// Two addresses of one host that both refuse are one defect.
	wantSame(t, fetch(aggregate(refused)), fetch(aggregate(refused, strings.Replace(refused, "127.0.0.1:443", "::1:443", 1))))
	// A connection that was refused alone says no more and no less than one
	// that was refused at each of a host's addresses.
	wantApart(t, fetch(aggregate(refused)), fetch(aggregate(slow)))
}

func TestJavaScriptCausesAreFollowedToTheDeepest(t *testing.T) {
	deep := "StageError: document failed\n    at stage (/srv/ingest.js:43:31)\n    at run (/srv/worker.js:9:3) {\n  code: 'STAGE',\n  [cause]: ParseError: page 7\n      at page (/srv/page.js:3:1)\n      at stage (/srv/ingest.js:41:7) {\n    [cause]: RangeError: offset outside of the file\n        at seek (/srv/seek.js:5:2)\n        at page (/srv/page.js:2:1)\n  }\n}\n"
	r := ofTrace(deep)
	if r.Type != "StageError" || r.RootType != "RangeError" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
	wantFrames(t, r, "seek@seek.js", "page@page.js")
	wantSame(t, deep, strings.NewReplacer("page 7", "page 9", ":5:2", ":6:1", "code: 'STAGE'", "code: 'OTHER'").Replace(deep))
	verror := "StageError: document failed: page 7\n    at stage (/srv/ingest.js:43:31)\ncaused by: ParseError: page 7\n    at page (/srv/page.js:3:1)\n"
	if r := ofTrace(verror); r.Type != "StageError" || r.RootType != "ParseError" {
		t.Errorf("VError: type %q, root %q", r.Type, r.RootType)
	}
}

func TestJavaScriptCauseWithoutAStackNamesTheRoot(t *testing.T) {
	wrapped := func(cause string) string {
		return "StageError: document failed\n    at stage (/srv/ingest.js:43:31)\n    at run (/srv/worker.js:9:3) {\n  [cause]: " + cause + "\n}\n"
	}
	r := ofTrace(wrapped("[RangeError: offset outside of the file]"))
	if r.Type != "StageError" || r.RootType != "RangeError" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
	if len(r.Frames) == 0 {
		t.Error("no frames: those of the wrapper are all there is")
	}
	wantApart(t, wrapped("[RangeError: x]"), wrapped("[TypeError: x]"))
	wantApart(t, wrapped("'EACCES'"), wrapped("'ENOENT'"))
}

func TestJavaScriptMessageOfManyLinesEndsAtTheFrames(t *testing.T) {
	r := ofTrace("Error: Command failed: pdftotext a.pdf -\nSyntax Error: Couldn't find trailer dictionary\nSyntax Error: Couldn't read xref table\n\n    at ChildProcess.exithandler (node:child_process:419:12)\n    at ChildProcess.emit (node:events:518:28)\n")
	if r.Type != "Error" || r.Message != "Command failed: pdftotext a.pdf -" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
}

func TestJavaScriptTypesAreReadWithTheirCodesAndNamespaces(t *testing.T) {
	for head, want := range map[string]string{
		"TypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument must be of type string": "TypeError", "SystemError [ERR_FS_CP_EINVAL]: x": "SystemError",
		"PDFJS.InvalidPDFException: x": "InvalidPDFException", "DOMException [AbortError]: This operation was aborted": "DOMException", "AssertionError [ERR_ASSERTION]: x": "AssertionError",
		"Uncaught (in promise) HeaderError: x": "HeaderError", "Uncaught:\nHeaderError: x": "HeaderError", "Unhandled Rejection (HeaderError): x": "HeaderError", "QueryFailedError: x": "QueryFailedError",
		"MongoServerError: E11000 duplicate key": "MongoServerError", "ZodError: [\n  {\n    \"code\": \"x\"\n  }\n]": "ZodError",
	} {
		if r := ofTrace(head + "\n    at parse (/srv/lib/header.js:12:9)\n    at read (/srv/lib/reader.js:88:20)\n"); r.Type != want {
			t.Errorf("%q: type %q, want %q", head, r.Type, want)
		}
	}
}
