package fingerprint

import (
	"strings"
	"testing"
)

// pyHeaderFrames is what every layout of the same failure gives.
var pyHeaderFrames = []string{"parse@header.py", "read@reader.py", "run@worker.py"}

func TestPythonToolsPrintTheSameTraceback(t *testing.T) {
	for tool, trace := range map[string]string{
		"the interpreter": pythonTrace,
		"rich": `╭─────────────────────────── Traceback (most recent call last) ───────────────────────────╮
│ /srv/app/worker.py:41 in run                                                             │
│                                                                                          │
│   38 │                                                                                   │
│   39 def run(path):                                                                      │
│ ❱ 41 │   invoice = read(path)                                                            │
│   42 │                                                                                   │
│                                                                                          │
│ /srv/venv/lib/python3.12/site-packages/invoices/reader.py:88 in read                     │
│                                                                                          │
│ ❱ 88 │   return Header.parse(block)                                                      │
│                                                                                          │
│ ╭──────── locals ────────╮                                                               │
│ │ block = b'\x00\x01'    │                                                               │
│ ╰────────────────────────╯                                                               │
│                                                                                          │
│ /srv/venv/lib/python3.12/site-packages/invoices/header.py:12 in parse                    │
│                                                                                          │
│ ❱ 12 │   │   raise HeaderError(f"bad magic {magic!r} at {offset}")                       │
╰──────────────────────────────────────────────────────────────────────────────────────────╯
HeaderError: bad magic b'\x00\x01' at 512
`,
		"rich in a narrow terminal": `╭─────── Traceback (most recent call last) ───────╮
│ /srv/app/worker.py:41 in run                    │
│                                                 │
│ ❱ 41 │   invoice = read(path)                   │
│                                                 │
│ /srv/venv/lib/python3.12/site-packages/invoices │
│ /reader.py:88 in read                           │
│                                                 │
│ ❱ 88 │   return Header.parse(block)             │
│                                                 │
│ /srv/venv/lib/python3.12/site-packages/invoices │
│ /header.py:12 in parse                          │
│                                                 │
│ ❱ 12 │   │   raise HeaderError(f"bad            │
╰─────────────────────────────────────────────────╯
HeaderError: bad magic b'\x00\x01' at 512
`,
		"rich without Unicode": `+------------------- Traceback (most recent call last) -------------------+
| /srv/app/worker.py:41 in run                                             |
|                                                                          |
| > 41 |   invoice = read(path)                                            |
|                                                                          |
| /srv/venv/lib/python3.12/site-packages/invoices/reader.py:88 in read     |
|                                                                          |
| > 88 |   return Header.parse(block)                                      |
|                                                                          |
| /srv/venv/lib/python3.12/site-packages/invoices/header.py:12 in parse    |
|                                                                          |
| > 12 |   |   raise HeaderError(f"bad magic {magic!r} at {offset}")       |
+--------------------------------------------------------------------------+
HeaderError: bad magic b'\x00\x01' at 512
`,
		"Colab":                         "---------------------------------------------------------------------------\nHeaderError                               Traceback (most recent call last)\n[/srv/app/worker.py](https://localhost:8080/#) in run(path)\n     40 \n---> 41     invoice = read(path)\n\n1 frames\n[/usr/local/lib/python3.10/dist-packages/invoices/reader.py](https://localhost:8080/#) in read(block)\n     87 \n---> 88     return Header.parse(block)\n\n[/usr/local/lib/python3.10/dist-packages/invoices/header.py](https://localhost:8080/#) in parse(cls, block)\n     11 \n---> 12         raise HeaderError(f\"bad magic\")\n\nHeaderError: bad magic b'\\x00\\x01' at 512\n",
		"IPython 8":                     "---------------------------------------------------------------------------\nHeaderError                               Traceback (most recent call last)\nFile ~/app/worker.py:41, in run(path)\n     39 def run(path):\n---> 41     invoice = read(path)\n\nFile ~/my env/lib/python3.11/site-packages/invoices/reader.py:88, in read.<locals>.wrapper.<locals>.read(*args, **kwargs)\n     87 \n---> 88     return Header.parse(block)\n\nFile c:\\\\env\\\\Lib\\\\site-packages\\\\invoices\\\\header.py:12, in parse(cls, block)\n     11 \n---> 12         raise HeaderError(f\"bad magic\")\n\nHeaderError: bad magic b'\\x00\\x01' at 512\n",
		"pytest, long":                  "____________________________ test_header ____________________________\n\npath = 'a.pdf'\n\n    def run(path):\n>       invoice = read(path)\n\nsrc/worker.py:41: \n_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _\nsrc/invoices/reader.py:88: in read\n    return Header.parse(block)\n_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _\n\ncls = <class 'Header'>\n\n    @classmethod\n    def parse(cls, block):\n        magic = block[:2]\n>       raise HeaderError(f\"bad magic {magic!r} at {offset}\")\nE       invoices.errors.HeaderError: bad magic b'\\x00\\x01' at 512\n\nsrc/invoices/header.py:12: HeaderError\n=========================== short test summary info ===========================\nFAILED tests/test_header.py::test_header - invoices.errors.HeaderError: bad magic\n",
		"pytest, short":                 "____________________________ test_header ____________________________\nsrc/worker.py:41: in run\n    invoice = read(path)\nsrc/invoices/reader.py:88: in read\n    return Header.parse(block)\nsrc/invoices/header.py:12: in parse\n    raise HeaderError(f\"bad magic {magic!r} at {offset}\")\nE   invoices.errors.HeaderError: bad magic b'\\x00\\x01' at 512\n",
		"a debugger":                    "Exception has occurred: HeaderError\nbad magic b'\\x00\\x01' at 512\n  File \"/srv/venv/lib/python3.12/site-packages/invoices/header.py\", line 12, in parse\n    raise HeaderError(f\"bad magic {magic!r} at {offset}\")\n  File \"/srv/venv/lib/python3.12/site-packages/invoices/reader.py\", line 88, in read\n    return Header.parse(block)\n  File \"/srv/app/worker.py\", line 41, in run\n    invoice = read(path)\ninvoices.errors.HeaderError: bad magic b'\\x00\\x01' at 512\n",
		"blank lines between":           strings.ReplaceAll(pythonTrace, "\n", "\n\n"),
		"no indentation":                "Traceback (most recent call last):\nFile \"/srv/app/worker.py\", line 41, in run\ninvoice = read(path)\nFile \"/srv/invoices/reader.py\", line 88, in read\nelse:\nFile \"/srv/invoices/header.py\", line 12, in parse\nraise HeaderError(f\"bad magic {magic!r} at {offset}\")\ninvoices.errors.HeaderError: bad magic b'\\x00\\x01' at 512\n",
		"no source lines":               "Traceback (most recent call last):\n  File \"/srv/app/worker.pyc\", line 41, in run\n  File \"/srv/invoices/reader.pyc\", line 88, in read\n  File \"/srv/invoices/header.pyc\", line 12, in parse\ninvoices.errors.HeaderError: bad magic b'\\x00\\x01' at 512\n",
		"Python 3.13's elisions":        "Traceback (most recent call last):\n  File \"/srv/app/worker.py\", line 41, in run\n    invoice = read(\n        path,\n    ...<3 lines>...\n    )\n  File \"/srv/invoices/reader.py\", line 88, in read\n    return Header.parse(block)\n           ~~~~~~~~~~~~^^^^^^^\n  File \"/srv/invoices/header.py\", line 12, in parse\n    raise HeaderError(f\"bad magic {magic!r} at {offset}\")\ninvoices.errors.HeaderError: bad magic b'\\x00\\x01' at 512\n",
		"a service framework's heading": "ERROR:    Exception in ASGI application\n" + pythonTrace,
		"a note":                        pythonTrace + "while reading page 7 of a.pdf\nValueError: this line is a note\n",
		"two tracebacks, the last of which was queued": pyBlockText("KeyError: 'earlier'", "main@/srv/app/other.py") + "2026-02-11 09:42:13 INFO retrying\n" + pythonTrace,
		"a warning first": "/srv/venv/lib/python3.12/site-packages/invoices/old.py:7: DeprecationWarning: use new\n  warnings.warn(\"use new\")\n" + pythonTrace,
	} {
		t.Run(tool, func(t *testing.T) {
			r := ofTrace(trace)
			if r.Language != "python" || r.Type != "HeaderError" || r.Message != `bad magic b'\x00\x01' at 512` {
				t.Errorf("language %q, type %q, message %q", r.Language, r.Type, r.Message)
			}
			wantFrames(t, r, pyHeaderFrames...)
		})
	}
}

func TestPythonRichChainsAreChains(t *testing.T) {
	box := func(frames ...string) string {
		b := "╭──── Traceback (most recent call last) ────╮\n"
		for _, f := range frames {
			b += "│ " + f + "   │\n│    │\n│ ❱ 9 │   raise StageError()   │\n"
		}
		return b + "╰───────────────────────────────────────────╯\n"
	}
	chain := box("/srv/app/job.py:5 in stage", "/srv/pdf/buffer.py:9 in fill") + "EndOfStream: stream ended\n\nThe above exception was the direct cause of the following exception:\n\n" +
		box("/srv/app/main.py:5 in main", "/srv/app/job.py:7 in stage") + "StageError: parse failed\n"
	r := ofTrace(chain)
	if r.Type != "StageError" || r.RootType != "EndOfStream" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
	wantFrames(t, r, "fill@buffer.py", "stage@job.py")
	prefixed := everyLine(shippers["docker compose"])(chain)
	wantSame(t, chain, prefixed)
}

func TestPythonHandlerThatRaisedInRichsBoxIsDeliberate(t *testing.T) {
	box := func(line, frame string) string {
		return "╭──── Traceback (most recent call last) ────╮\n│ " + frame + " │\n│ ❱ 9 │   " + line + " │\n╰────────────────────────────╯\n"
	}
	chain := func(line string) string {
		return box("return parse(block)", "/srv/app/job.py:5 in stage") + "EndOfStream: stream ended\n\n" + pyContext + "\n\n" + box(line, "/srv/app/job.py:9 in stage") + "StageError: parse failed\n"
	}
	if r := ofTrace(chain("raise StageError()")); r.RootType != "EndOfStream" {
		t.Errorf("root %q", r.RootType)
	}
	if r := ofTrace(chain("return {}['fallback']")); r.RootType != "" {
		t.Errorf("root %q", r.RootType)
	}
}

func TestPythonFaultIsReadInnermostFirst(t *testing.T) {
	fault := "Fatal Python error: Segmentation fault\n\nThread 0x00007f11 (most recent call first):\n  File \"/usr/lib/python3.11/threading.py\", line 320 in wait\n  File \"/usr/lib/python3.11/threading.py\", line 975 in run\n\nCurrent thread 0x00007f22 (most recent call first):\n  File \"/srv/invoices/header.py\", line 12 in parse\n  File \"/srv/invoices/reader.py\", line 88 in read\n  File \"/srv/app/worker.py\", line 41 in run\n  File \"/srv/app/worker.py\", line 50 in <module>\n\nExtension modules: numpy.core._multiarray_umath (total: 1)\n"
	r := ofTrace(fault)
	if r.Type != "Fatal Python error" || r.Message != "Segmentation fault" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
	wantFrames(t, r, pyHeaderFrames...)
	wantApart(t, fault, strings.Replace(fault, "Segmentation fault", "Aborted", 1))
	wantSame(t, fault, strings.NewReplacer("0x00007f11", "0x00007e01", "0x00007f22", "0x00007e02", "line 975 in run", "line 9 in idle").Replace(fault))
}

func TestPythonTimeoutDumpIsTheCurrentThread(t *testing.T) {
	r := ofTrace("Timeout (0:00:30)!\nThread 0x00007f11 (most recent call first):\n  File \"/srv/invoices/header.py\", line 12 in parse\n  File \"/srv/app/worker.py\", line 41 in run\n")
	if r.Type != "Timeout" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "parse@header.py", "run@worker.py")
}

func TestPythonExceptionLinesOfEveryForm(t *testing.T) {
	at := "Traceback (most recent call last):\n  File \"/srv/invoices/header.py\", line 12, in parse\n    call()\n"
	for line, want := range map[string][2]string{
		"HeaderError":                               {"HeaderError", ""},
		"HeaderError: ":                             {"HeaderError", ""},
		"HeaderError:":                              {"HeaderError", ""},
		"invoices.errors.HeaderError: bad":          {"HeaderError", "bad"},
		"__main__.Problem: bad":                     {"Problem", "bad"},
		"__main__.f.<locals>.Problem: bad":          {"Problem", "bad"},
		"invoices.Outer.Inner: bad":                 {"Inner", "bad"},
		"asyncio.exceptions.CancelledError":         {"CancelledError", ""},
		"KeyboardInterrupt":                         {"KeyboardInterrupt", ""},
		"SystemExit: 1":                             {"SystemExit", "1"},
		"HeaderError: \n  first\n  second":          {"HeaderError", "first"},
		"botocore.errorfactory.NoSuchKey: An error": {"NoSuchKey", "An error"},
		"sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) x": {"OperationalError", "(psycopg2.OperationalError) x"},
		"HeaderError: Überschrift fehlt – 第7页":                           {"HeaderError", "Überschrift fehlt – 第7页"},
		"_pickle.UnpicklingError: pickle data was truncated":             {"UnpicklingError", "pickle data was truncated"},
		"_csv.Error: line contains NUL":                                  {"Error", "line contains NUL"},
		"struct.error: unpack requires a buffer of 4 bytes":              {"error", "unpack requires a buffer of 4 bytes"},
	} {
		if r := ofTrace(at + line + "\n"); r.Type != want[0] || r.Message != want[1] || len(r.Frames) != 1 {
			t.Errorf("%q: type %q, message %q, frames %v", line, r.Type, r.Message, r.Frames)
		}
	}
}

func TestPythonSyntaxErrorOfAnImportedFileEndsAtThatFile(t *testing.T) {
	r := ofTrace("Traceback (most recent call last):\n  File \"/srv/app/job.py\", line 3, in <module>\n    import plugins.conv\n  File \"/srv/app/plugins/conv.py\", line 35\n    print 'x'\n          ^\nSyntaxError: invalid syntax\n")
	if r.Type != "SyntaxError" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "@conv.py", "<module>@job.py")
	indentation := "  File \"/srv/app/plugins/conv.py\", line 35\n    x\nIndentationError: unexpected indent\n"
	if r := ofTrace(indentation); r.Type != "IndentationError" {
		t.Errorf("type %q", r.Type)
	}
}

func TestPythonMachineryBetweenPoolAndTaskDoesNotCount(t *testing.T) {
	task := pyBlockText("pdf.Broken: x", "work@/app/job.py", "fill@"+lib+"buffer.py")
	future := pyBlockText("pdf.Broken: x", "main@/app/job.py", "result@/usr/lib/python3.11/concurrent/futures/_base.py", "__get_result@/usr/lib/python3.11/concurrent/futures/_base.py",
		"run@/usr/lib/python3.11/concurrent/futures/thread.py", "work@/app/job.py", "fill@"+lib+"buffer.py")
	r := ofTrace(future)
	wantFrames(t, r, "fill@buffer.py", "work@job.py", "run@thread.py")
	if r.Type != ofTrace(task).Type {
		t.Errorf("type %q", r.Type)
	}
	celery := "[2026-02-11 09:42:13,677: ERROR/ForkPoolWorker-4] Task ingest.parse[7f458ea1-6b7d-488a-9839-17f7fa83bbfa] raised unexpected: Broken('x')\n" +
		pyBlockText("pdf.Broken: x", "trace_task@/usr/lib/python3/site-packages/celery/app/trace.py", "__protected_call__@/usr/lib/python3/site-packages/celery/app/trace.py", "work@/app/job.py", "fill@"+lib+"buffer.py")
	wantFrames(t, ofTrace(celery), "fill@buffer.py", "work@job.py", "__protected_call__@trace.py")
}

func TestPythonRemoteTracebackOfBilliardAndPool(t *testing.T) {
	child := pyBlockText(readFails, "work@/app/job.py", "fill@"+lib+"buffer.py")
	for _, heading := range []string{"multiprocessing.pool.RemoteTraceback: \n", "billiard.einfo.RemoteTraceback:\n", "concurrent.futures.process._RemoteTraceback: \n", "joblib.externals.loky.process_executor._RemoteTraceback: \n"} {
		remote := heading + "\"\"\"\n" + child + "\"\"\"\n" + directly + pyBlockText(readFails, "main@/app/job.py", "get@/usr/lib/python3.11/multiprocessing/pool.py")
		wantSame(t, remote, child)
	}
}

func TestPythonMalformedGroupsStillGiveATrace(t *testing.T) {
	ended := pyBlockText(readFails, "one@/app/job.py", "fill@"+lib+"buffer.py")
	locked := pyBlockText("pdf.Locked: no password", "one@/app/job.py", "decrypt@"+lib+"crypt.py")
	whole := pyGroup(ended, locked)
	for name, text := range map[string]string{
		"cut after the first member": whole[:strings.Index(whole, "    +---------------- 2")],
		"no margin at the end":       strings.TrimSuffix(whole, "    +------------------------------------\n"),
		"members numbered alike":     strings.Replace(whole, "- 2 -", "- 1 -", 1),
		"members left out":           strings.Replace(whole, "    +------------------------------------\n", "    +---------------- ... ----------------\n    | and 3 more exceptions\n    +------------------------------------\n", 1),
	} {
		if r := ofTrace(text); r.Mode != ModeTrace || r.Type == "" {
			t.Errorf("%s: mode %s, type %q", name, r.Mode, r.Type)
		}
	}
	wantSame(t, whole, strings.TrimSuffix(whole, "    +------------------------------------\n"))
	wantSame(t, whole, strings.Replace(whole, "- 2 -", "- 1 -", 1))
}

func TestPythonGroupRaisedFromAnExceptionKeepsBoth(t *testing.T) {
	ended := pyBlockText(readFails, "one@/app/job.py", "fill@"+lib+"buffer.py")
	wrapper := pyBlockText("StageError: batch failed", "main@/app/job.py", "stage@/app/job.py")
	r := ofTrace(pyGroup(ended) + directly + wrapper)
	if r.Type != "StageError" {
		t.Errorf("type %q", r.Type)
	}
	if r.RootType != "EndOfStream" && r.RootType != "ExceptionGroup" {
		t.Errorf("root %q", r.RootType)
	}
	wantApart(t, pyGroup(ended)+directly+wrapper, pyGroup(pyBlockText("pdf.Locked: x", "one@/app/job.py", "decrypt@"+lib+"crypt.py"))+directly+wrapper)
}

func TestPythonHalvesOfATraceback(t *testing.T) {
	headCut := pythonTrace[strings.Index(pythonTrace, "    invoice = read"):]
	r := ofTrace(headCut)
	if r.Type != "HeaderError" {
		t.Errorf("head cut: type %q", r.Type)
	}
	wantFrames(t, r, "parse@header.py", "read@reader.py")
	for _, end := range []string{"    raise", "  File \"/srv/venv/lib/python3.12/site-packages/invoices/header", "invoices.errors"} {
		tailCut := pythonTrace[:strings.Index(pythonTrace, end)]
		if r := ofTrace(tailCut); len(r.Frames) > 0 || r.Confidence != ConfidenceLow {
			t.Errorf("tail cut before %q: frames %v, confidence %s", end, r.Frames, r.Confidence)
		}
	}
}

func TestPythonElidedRecursionIsOneCycle(t *testing.T) {
	trace := "Traceback (most recent call last):\n  File \"/app/job.py\", line 1, in main\n    walk(root)\n" +
		strings.Repeat("  File \"/app/tree.py\", line 9, in walk\n    walk(child)\n", 3) + "  [Previous line repeated 988 more times]\n" +
		"  File \"/app/tree.py\", line 4, in walk\n    isinstance(x, Kid)\n  File \"<frozen abc>\", line 119, in __instancecheck__\nRecursionError: maximum recursion depth exceeded in comparison\n"
	r := ofTrace(trace)
	wantFrames(t, r, "walk@tree.py")
	wantSame(t, trace, strings.Replace(trace, "  File \"<frozen abc>\", line 119, in __instancecheck__\n", "", 1))
	if !strings.Contains(r.Canonical, "\ncycle=walk@tree.py\n") {
		t.Errorf("canonical %s", r.Canonical)
	}
}

func TestPythonComprehensionsAreTheirFunctions(t *testing.T) {
	old := pyBlockText("ValueError: no rows", "run@/srv/job.py", "read@"+lib+"sheets/rows.py", "<listcomp>@"+lib+"sheets/rows.py", "cell@"+lib+"sheets/cells.py")
	now := pyBlockText("ValueError: no rows", "run@/srv/job.py", "read@"+lib+"sheets/rows.py", "cell@"+lib+"sheets/cells.py")
	wantSame(t, old, now)
	wantApart(t, strings.ReplaceAll(old, "<listcomp>", "<genexpr>"), now)
}
