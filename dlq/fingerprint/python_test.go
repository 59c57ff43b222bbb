package fingerprint

import (
	"fmt"
	"strings"
	"testing"
)

// pyBlockText prints a traceback of frames "function@file", outermost first.
func pyBlockText(exception string, frames ...string) string {
	var b strings.Builder
	b.WriteString("Traceback (most recent call last):\n")
	for i, f := range frames {
		function, file, _ := strings.Cut(f, "@")
		fmt.Fprintf(&b, "  File %q, line %d, in %s\n    call()\n", file, i+1, function)
	}
	return b.String() + exception + "\n"
}

const (
	lib       = "/usr/lib/python3.11/site-packages/pdf/"
	directly  = "\nThe above exception was the direct cause of the following exception:\n\n"
	handling  = "\nDuring handling of the above exception, another exception occurred:\n\n"
	readFails = "pdf.EndOfStream: stream ended"
)

func TestPythonDirectCauseIsTheRoot(t *testing.T) {
	read := pyBlockText(readFails, "stage@/app/job.py", "read@"+lib+"reader.py", "fill@"+lib+"buffer.py")
	decrypt := pyBlockText("pdf.Locked: no password", "stage@/app/job.py", "open@"+lib+"reader.py", "decrypt@"+lib+"crypt.py")
	wrapper := pyBlockText("StageError: parse failed", "main@/app/job.py", "stage@/app/job.py")
	r := ofTrace(read + directly + wrapper)
	if r.Type != "StageError" || r.RootType != "EndOfStream" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
	wantFrames(t, r, "fill@buffer.py", "read@reader.py", "stage@job.py")
	if !strings.Contains(r.Canonical, "\nwrap=stage@job.py\n") {
		t.Errorf("no wrap frame in %q", r.Canonical)
	}
	wantApart(t, read+directly+wrapper, decrypt+directly+wrapper)
}

func TestPythonContextCountsOnlyIfTheHandlerRaised(t *testing.T) {
	context := pyBlockText(readFails, "stage@/app/job.py", "fill@"+lib+"buffer.py")
	other := pyBlockText("pdf.Locked: no password", "stage@/app/job.py", "decrypt@"+lib+"crypt.py")

	raises := strings.Replace(pyBlockText("StageError: parse failed", "main@/app/main.py", "stage@/app/job.py"), "line 2, in stage\n    call()", "line 2, in stage\n    raise StageError(\"parse failed\")", 1)
	if r := ofTrace(context + handling + raises); r.RootType != "EndOfStream" {
		t.Errorf("a translated exception has root %q", r.RootType)
	}
	wantApart(t, context+handling+raises, other+handling+raises)

	trips := pyBlockText("KeyError: 'fallback'", "main@/app/main.py", "stage@/app/job.py")
	if r := ofTrace(context + handling + trips); r.RootType != "" {
		t.Errorf("a bug in the handler has root %q", r.RootType)
	}
	wantSame(t, context+handling+trips, other+handling+trips)
	wantSame(t, context+handling+trips, trips)

	elsewhere := strings.Replace(raises, "in stage", "in other_stage", 1)
	if r := ofTrace(context + handling + elsewhere); r.RootType != "" {
		t.Errorf("an exception raised in another function has root %q", r.RootType)
	}
}

func TestPythonMarkersAndElisionsAreNotFrames(t *testing.T) {
	wantSame(t, pythonTrace, changed(t, pythonTrace, "    return Header.parse(block)\n",
		"    return Header.parse(\n           ~~~~~~~~~~~~^\n        block,\n        ^^^^^^\n    ...<3 lines>...\n    )\n    ^\n"))
}

func TestPythonCutTailDoesNotLeaveTheOutermostFrames(t *testing.T) {
	cut := pythonTrace[:strings.Index(pythonTrace, "    raise")]
	r := Of(Input{Trace: cut, ErrorType: "invoices.HeaderError", ErrorMessage: "bad magic at 512"})
	if want := "f1\nmode=message\ntype=HeaderError\nmsg=bad magic at <int>\n"; r.Canonical != want {
		t.Errorf("canonical %q, want %q", r.Canonical, want)
	}
	if len(r.Frames) > 0 {
		t.Errorf("frames %v", r.Frames)
	}
}

func TestPythonCutHeadIsAccepted(t *testing.T) {
	wantSame(t, pythonTrace, strings.TrimPrefix(pythonTrace, "Traceback (most recent call last):\n"))
}

func TestPythonRecursionIsItsCycleWhereverTheLimitHit(t *testing.T) {
	walk := []string{"main@/app/job.py", "visit@" + lib + "tree.py"}
	for range 30 {
		walk = append(walk, "visit@"+lib+"tree.py", "resolve@"+lib+"refs.py", "load@"+lib+"doc.py")
	}
	const error = "RecursionError: maximum recursion depth exceeded"
	a := pyBlockText(error, append(walk, "debug@/usr/lib/python3.11/logging/__init__.py")...)
	b := pyBlockText(error+" while calling a Python object", append(walk, "visit@"+lib+"tree.py", "resolve@"+lib+"refs.py")...)
	wantSame(t, a, b)
	r := ofTrace(a)
	if r.Confidence != ConfidenceLow {
		t.Errorf("confidence %s", r.Confidence)
	}
	wantFrames(t, r, "load@doc.py", "resolve@refs.py", "visit@tree.py")
	wantApart(t, a, strings.ReplaceAll(a, "refs.py", "links.py"))
}

func TestPythonRepeatedLineStandsForItsFrames(t *testing.T) {
	frame := "  File \"/app/tree.py\", line 9, in visit\n    visit(child)\n"
	head, end := "Traceback (most recent call last):\n  File \"/app/job.py\", line 1, in main\n    visit(root)\n", "RecursionError: maximum recursion depth exceeded\n"
	folded := head + strings.Repeat(frame, 3) + "  [Previous line repeated 990 more times]\n" + end
	wantSame(t, folded, head+strings.Repeat(frame, 20)+strings.Replace(end, "exceeded", "exceeded in comparison", 1))
}

func TestPythonCollapsesACycleThatIsNoRecursionError(t *testing.T) {
	frames := []string{"main@/app/job.py"}
	for range 4 {
		frames = append(frames, "walk@"+lib+"tree.py", "child@"+lib+"node.py")
	}
	deep := pyBlockText("pdf.Broken: x", frames...)
	wantFrames(t, ofTrace(deep), "child@node.py", "walk@tree.py", "main@job.py")
	shallow := pyBlockText("pdf.Broken: x", "main@/app/job.py", "walk@"+lib+"tree.py", "child@"+lib+"node.py")
	wantSame(t, deep, shallow)
}

func TestPythonIdentifierTypesKeepTheWordTheyName(t *testing.T) {
	at := []string{"main@/app/job.py", "get@" + lib + "tree.py"}
	wantApart(t, pyBlockText("KeyError: '/Root'", at...), pyBlockText("KeyError: '/Pages'", at...))
	wantApart(t, pyBlockText("ModuleNotFoundError: No module named 'docx'", at...), pyBlockText("ModuleNotFoundError: No module named 'xlrd'", at...))
	// A key that comes from the document is no identifier.
	wantSame(t, pyBlockText("KeyError: 'INV-20231'", at...), pyBlockText("KeyError: 'INV-20244'", at...))
	wantSame(t, pyBlockText("KeyError: 17", at...), pyBlockText("KeyError: 4", at...))
}

func TestPythonAttributeErrorKeepsTheAttributeNotTheReceiver(t *testing.T) {
	at := []string{"main@/app/job.py", "get@" + lib + "tree.py"}
	none := pyBlockText("AttributeError: 'NoneType' object has no attribute 'pages'", at...)
	wantSame(t, none, pyBlockText("AttributeError: 'NullObject' object has no attribute 'pages'. Did you mean: 'page'?", at...))
	wantApart(t, none, pyBlockText("AttributeError: 'NoneType' object has no attribute 'fonts'", at...))
}

func TestPythonOwnCodeRoundOneCallNeedsTheMessage(t *testing.T) {
	own := []string{"main@/app/job.py", "extract@/app/job.py"}
	wantApart(t, pyBlockText("ValueError: unknown kind", own...), pyBlockText("ValueError: empty document", own...))
	// In a library the frames tell, and messages quote documents.
	library := []string{"read@" + lib + "reader.py", "fill@" + lib + "reader.py"}
	wantSame(t, pyBlockText("ValueError: starts with b'F'", library...), pyBlockText("ValueError: starts with b'T'", library...))
}

func TestPythonSyntaxErrorIsItsFileNotItsWording(t *testing.T) {
	old := "  File \"/app/plugins/conv.py\", line 35\n    print 'x'\n            ^\nSyntaxError: Missing parentheses in call to 'print'. Did you mean print('x')?\n"
	recent := "  File \"/app/plugins/conv.py\", line 35\n    print 'x'\n    ^^^^^^^^^\nSyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?\n"
	wantSame(t, old, recent)
	wantFrames(t, ofTrace(old), "@conv.py")
	wantApart(t, old, strings.Replace(old, "conv.py", "scan.py", 1))
}

func TestPythonUnits(t *testing.T) {
	for path, want := range map[string]string{
		"<frozen codecs>": "codecs.py", "<frozen importlib._bootstrap>": "_bootstrap.py", "<stdin>": "<stdin>",
		"/a/main.cpython-311-x86_64-linux-gnu.so": "main.so", "pydantic/main.pyx": "main.pyx", `C:\a\b.py`: "b.py", "b.cp312-win_amd64.pyd": "b.pyd",
	} {
		if got := pythonUnit(path); got != want {
			t.Errorf("unit of %s is %s, want %s", path, got, want)
		}
	}
}

func TestPythonLocalFunctionsAreNamedByTheirLastPart(t *testing.T) {
	wantSame(t, pyBlockText(readFails, "outer.<locals>.inner@"+lib+"a.py"), pyBlockText(readFails, "inner@"+lib+"a.py"))
}

func TestPythonRemoteTracebackIsWhatTheChildPrinted(t *testing.T) {
	child := pyBlockText(readFails, "work@/app/job.py", "fill@"+lib+"buffer.py")
	parent := pyBlockText(readFails, "main@/app/job.py", "result@/usr/lib/python3.11/concurrent/futures/_base.py", "__get_result@/usr/lib/python3.11/concurrent/futures/_base.py")
	remote := "concurrent.futures.process._RemoteTraceback: \n\"\"\"\n" + child + "\"\"\"\n" + directly + parent
	wantSame(t, remote, child)
	if r := ofTrace(remote); r.RootType != "" {
		t.Errorf("root %q: the same exception, printed twice, is no chain", r.RootType)
	}
}

// pyGroup prints an exception group with the given members.
func pyGroup(members ...string) string {
	var b strings.Builder
	b.WriteString("  + Exception Group Traceback (most recent call last):\n  |   File \"/app/job.py\", line 4, in batch\n  |     async with TaskGroup() as tg:\n")
	fmt.Fprintf(&b, "  | ExceptionGroup: unhandled errors in a TaskGroup (%d sub-exceptions)\n", len(members))
	for i, m := range members {
		lead := "    +"
		if i == 0 {
			lead = "  +-+"
		}
		fmt.Fprintf(&b, "%s---------------- %d ----------------\n", lead, i+1)
		for line := range strings.Lines(m) {
			if strings.HasPrefix(line, "  +") || strings.HasPrefix(line, "    +") || strings.HasPrefix(line, "    |") {
				b.WriteString("  " + line)
				continue
			}
			b.WriteString("    | " + line)
		}
	}
	return b.String() + "    +------------------------------------\n"
}

// pyNested prints a group as a member of another: its own margin goes, and that
// of its members moves in.
func pyNested(group string) string {
	var b strings.Builder
	for line := range strings.Lines(group) {
		line = strings.TrimPrefix(strings.TrimPrefix(line, "  + "), "  | ")
		b.WriteString(line)
	}
	return b.String()
}

func TestPythonGroupIsItsDistinctMembers(t *testing.T) {
	empty := pyBlockText("pdf.Empty: no bytes", "one@/app/job.py", "open@"+lib+"reader.py")
	ended := pyBlockText(readFails, "one@/app/job.py", "fill@"+lib+"buffer.py")
	locked := pyBlockText("pdf.Locked: no password", "one@/app/job.py", "decrypt@"+lib+"crypt.py")
	r := ofTrace(pyGroup(empty, ended))
	if r.Type != "ExceptionGroup" || strings.Count(r.Canonical, "\nleaf=") != 2 {
		t.Errorf("type %q, canonical %q", r.Type, r.Canonical)
	}
	wantSame(t, pyGroup(empty, ended), pyGroup(ended, empty, ended))
	wantApart(t, pyGroup(empty, ended), pyGroup(empty, locked))
	wantApart(t, pyGroup(empty, ended), pyGroup(empty, ended, locked))
}

func TestPythonGroupInAGroupAddsItsMembers(t *testing.T) {
	empty := pyBlockText("pdf.Empty: no bytes", "one@/app/job.py", "open@"+lib+"reader.py")
	ended := pyBlockText(readFails, "one@/app/job.py", "fill@"+lib+"buffer.py")
	locked := pyBlockText("pdf.Locked: no password", "one@/app/job.py", "decrypt@"+lib+"crypt.py")
	wantSame(t, pyGroup(empty, pyNested(pyGroup(ended, locked))), pyGroup(empty, ended, locked))
	wantSame(t, pyGroup(pyNested(pyGroup(ended, ended))), ended)
}

func TestPythonGroupOfOneDefectIsThatDefect(t *testing.T) {
	ended := pyBlockText(readFails, "one@/app/job.py", "fill@"+lib+"buffer.py")
	wantSame(t, pyGroup(ended, ended, ended), ended)
	wantSame(t, pyGroup(ended), ended)
}

func TestPythonGroupMemberKeepsItsCause(t *testing.T) {
	caused := pyBlockText(readFails, "one@/app/job.py", "fill@"+lib+"buffer.py") + directly + pyBlockText("StageError: x", "one@/app/job.py")
	if r := ofTrace(pyGroup(caused)); r.Type != "StageError" || r.RootType != "EndOfStream" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
}

func TestPythonNotebookAndDjangoPagesAreRead(t *testing.T) {
	notebook := `HeaderError                               Traceback (most recent call last)

<ipython-input-21-661fe9476e35> in <module>()
----> 9 read(fp)

1 frames

/usr/lib/python3.6/dist-packages/invoices/header.py in parse(cls, block)
     11     if magic != MAGIC:
---> 12         raise HeaderError('bad magic')

HeaderError: bad magic
`
	r := ofTrace(notebook)
	if r.Type != "HeaderError" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "parse@header.py", "<module>@<ipython-input>")
	wantSame(t, notebook, strings.Replace(notebook, "input-21-661fe9476e35", "input-3-00ff00ff00ff", 1))

	django := `HeaderError at /console/upload/
bad magic

Traceback:

File "/srv/env/lib/python3.9/site-packages/django/core/handlers/exception.py" in inner
 34.             response = get_response(request)

File "/srv/env/lib/python3.9/site-packages/invoices/header.py" in parse
 12.             raise HeaderError('bad magic')

Exception Type: HeaderError at /console/upload/
Exception Value: bad magic
`
	r = ofTrace(django)
	if r.Type != "HeaderError" || r.Message != "bad magic" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
	wantFrames(t, r, "parse@header.py", "inner@exception.py")
}

func TestPySparkTraceIsReadOnTheSideThatRaised(t *testing.T) {
	driver := pyBlockText("py4j.protocol.Py4JJavaError: An error occurred while calling o36.count.\n"+
		": org.apache.spark.SparkException: Job aborted\n\tat org.apache.spark.Scheduler.abort(Scheduler.scala:9)\n\tat org.apache.spark.Scheduler.run(Scheduler.scala:8)",
		"main@/app/job.py", "count@"+lib+"frame.py", "call@"+lib+"gateway.py")
	r := ofTrace(driver)
	if r.Language != "jvm" || r.Type != "SparkException" {
		t.Errorf("language %s, type %q", r.Language, r.Type)
	}
	worker := "org.apache.spark.api.python.PythonException: " + pyBlockText(readFails, "work@/app/udf.py", "fill@"+lib+"buffer.py") +
		"\n\tat org.apache.spark.A.a(A.scala:1)\n\tat org.apache.spark.A.b(A.scala:1)\n\tat org.apache.spark.A.c(A.scala:1)\n"
	r = ofTrace(worker)
	if r.Language != "python" || r.Type != "EndOfStream" {
		t.Errorf("language %s, type %q", r.Language, r.Type)
	}
}
