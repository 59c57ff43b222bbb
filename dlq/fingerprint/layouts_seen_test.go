package fingerprint

import (
	"strings"
	"testing"
)

// Layouts as people paste them from the logs of real deployments.

func TestRichBoxInAComposeLogBehindALoggersColumn(t *testing.T) {
	const column = "                     "
	lines := []string{
		"[18:54:11] WARNING  [18:54:11] - WARNING - Object ID 6062,0 ref    utils.py:426",
		column + "repaired                                                    ",
		"           ERROR    [18:54:12] - ERROR - Error building node       base.py:56",
		column + "╭──── Traceback (most recent call last) ────╮               ",
		column + "│ /home/user/.local/lib/python3.10/site-pac │               ",
		column + "│ kages/graph/base.py:160 in                │               ",
		column + "│ _build                                    │               ",
		column + "│                                           │               ",
		column + "│   157 │   │   │   │   if value == self:   │               ",
		column + "│ ❱ 160 │   │   │   │   self.read(stream)   │               ",
		column + "│                                           │               ",
		column + "│ /home/user/.local/lib/python3.10/site-pac │               ",
		column + "│ kages/pdf/reader.py:322 in __init__       │               ",
		column + "│                                           │               ",
		column + "│ ❱ 322 │   │   self.read(stream)           │               ",
		column + "╰───────────────────────────────────────────╯               ",
		column + "IndexError: index out of range                              ",
		column + "                                                            ",
		column + "The above exception was the direct cause of                 ",
		column + "the following exception:                                    ",
		column + "                                                            ",
		column + "╭──── Traceback (most recent call last) ────╮               ",
		column + "│ /home/user/.local/lib/python3.10/site-pac │               ",
		column + "│ kages/api/validate.py:53 in post_v        │               ",
		column + "│                                           │               ",
		column + "│ ❱ 53 │   raise Refused()                  │               ",
		column + "╰───────────────────────────────────────────╯               ",
		column + "Refused: cannot build                                       ",
	}
	text := ""
	for _, l := range lines {
		text += "docker_example-flow-1  | " + l + "\n"
	}
	r := ofTrace(text)
	if r.Type != "Refused" || r.RootType != "IndexError" {
		t.Errorf("type %q, root %q, steps %q", r.Type, r.RootType, r.Steps)
	}
	wantFrames(t, r, "__init__@reader.py", "_build@base.py")
}

func TestAnEscapedTraceOnOneLineOfALog(t *testing.T) {
	for language, trace := range traces {
		for name, line := range map[string]string{
			"JSON":                     jsonOf(t, object{"level": "error", "stack_trace": trace}),
			"Python's list":            "Oct 17 14:18:23 host ecs.log: 2019-10-17 11:18:23,419 run DEBUG - [" + pythonRepr(trace) + "]",
			"escapes behind a message": "Oct 17 14:18:23 host worker: " + strings.Trim(jsonOf(t, trace), `"`),
		} {
			text := "2026-02-11 09:42:12 INFO starting\n2026-02-11 09:42:12 INFO document a.pdf\n" + line + "\n2026-02-11 09:42:14 INFO next document\n"
			if got := ofTrace(text); got.Digest != ofTrace(trace).Digest {
				t.Errorf("%s, %s:\n%s\nbare:\n%s", name, language, got.Canonical, ofTrace(trace).Canonical)
			}
		}
	}
}

func TestATraceQuotedInAMessageIsNotTakenForTheTrace(t *testing.T) {
	text := pyBlockText("job.ChildFailed: "+pythonRepr(pyBlockText("KeyError: 'a'", "child@/app/child.py")), "main@/app/job.py", "wait@"+lib+"pool.py")
	r := ofTrace(text)
	if r.Type != "ChildFailed" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "wait@pool.py", "main@job.py")
}

func TestGroupWithoutFramesOfItsOwnBehindAPrefix(t *testing.T) {
	group := "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: many (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"/app/job.py\", line 3, in one\n    |     fill()\n    |   File \"/app/lib/python3/buffer.py\", line 9, in fill\n    |     raise E\n    | pdf.EndOfStream: stream ended\n    +------------------------------------\n"
	bare := ofTrace(group)
	if bare.Type != "EndOfStream" {
		t.Errorf("type %q", bare.Type)
	}
	for shipper, format := range shippers {
		if got := ofTrace("ERROR:    Exception in ASGI application\n" + everyLine(format)(group)); got.Digest != bare.Digest {
			t.Errorf("%s:\n%s", shipper, got.Canonical)
		}
	}
}

func TestGoStackWhoseFilesLostTheirIndentation(t *testing.T) {
	r := ofTrace("Fatal: parsing \"j\": invalid syntax\ndereferenceObject: problem dereferencing object 8\nexample.com/pdf/pkg/pdf.dereferenceObject\n/home/u/go/src/example.com/pdf/pkg/pdf/read.go:2156\nexample.com/pdf/pkg/pdf.Read\n/home/u/go/src/example.com/pdf/pkg/pdf/read.go:80\nmain.main\n/home/u/go/src/example.com/pdf/cmd/main.go:9\n")
	if r.Language != "go" {
		t.Errorf("language %q", r.Language)
	}
	wantFrames(t, r, "pdf.dereferenceObject@example.com/pdf/pkg/pdf", "pdf.Read@example.com/pdf/pkg/pdf", "main.main@main")
}

func TestGoPanicThatWasCaughtAndPrintedAsAnError(t *testing.T) {
	r := ofTrace("Fatal: unexpected panic attack: runtime error: invalid memory address or nil pointer dereference\n\nexample.com/pdf/pkg/cli.Process.func1\n\texample.com/pdf/pkg/cli/process.go:28\nruntime.gopanic\n\truntime/panic.go:1038\nruntime.panicmem\n\truntime/panic.go:221\nruntime.sigpanic\n\truntime/signal_unix.go:735\nexample.com/pdf/pkg/pdf.(*Image).Read\n\t<autogenerated>:1\nio.copyBuffer\n\tio/io.go:423\nmain.main\n\tmain.go:3\n")
	if r.Type != "panic" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "pdf.(*Image).Read@example.com/pdf/pkg/pdf", "io.copyBuffer@io", "main.main@main")
}

func TestNotebookOnWindowsWithBlanksInItsPaths(t *testing.T) {
	r := ofTrace("---------------------------------------------------------------------------\nBadZipFile                                Traceback (most recent call last)\n<ipython-input-2-f0a0b38a8395> in <module>\n      1 path = \"scripts/Elaboração.xlsm\"\n----> 2 wb = load(path)\n\n~\\.virtualenvs\\my project-nNknfD7x\\lib\\site-packages\\sheets\\reader\\excel.py in load(filename, read_only)\n    313                         data_only)\n--> 314     reader.read()\n\nC:\\Program Files\\Python37\\lib\\zipfile.py in read(self, n)\n    874 \n--> 875             self._update_crc(data)\n\nBadZipFile: Bad CRC-32 for file 'xl/media/image2.jpg'\n")
	if r.Type != "BadZipFile" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "read@zipfile.py", "load@excel.py", "<module>@<ipython-input>")
}

func TestNotebookInputCellsOfEveryVersion(t *testing.T) {
	for _, cell := range []string{"<ipython-input-4-d07f31421799> in <module>()", "<ipython-input-4-d07f31421799> in <module>", "Input In [2], in <cell line: 3>()", "Cell In[11], line 7", "Cell In [11], line 7", "Input In [2], in <module>"} {
		r := ofTrace("HeaderError                               Traceback (most recent call last)\n" + cell + "\n----> 1 read()\n\nFile ~/lib/reader.py:88, in read(block)\n---> 88 x\n\nHeaderError: x\n")
		wantFrames(t, r, "read@reader.py", "<module>@<ipython-input>")
	}
}

func TestPdfBytesAsATraceAreNotATrace(t *testing.T) {
	pdf := "%PDF-1.4\r%\xe2\xe3\xcf\xd3\r\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\nstream\nx\x9c\x00\xff\x01(at foo.bar(1))\nendstream\n" + strings.Repeat("\x00\x01\xff\xfe", 5000)
	r := Of(Input{Trace: pdf, ErrorType: "Broken", ErrorMessage: "not a trace"})
	if r.Mode != ModeMessage || r.Type != "Broken" {
		t.Errorf("mode %s, type %q", r.Mode, r.Type)
	}
	for n := range 256 {
		ofTrace(strings.Repeat(string([]byte{byte(n)}), 3000) + pythonTrace)
	}
}
