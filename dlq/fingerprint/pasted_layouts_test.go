package fingerprint

import (
	"strings"
	"testing"
)

// Layouts that debuggers, notebooks, consoles and pages give a trace before
// somebody pastes it.

func TestNotebooksWithLinksAndQualifiedNames(t *testing.T) {
	r := ofTrace(`PickleError                               Traceback (most recent call last)
Cell In[3], line 2
      1 reader = Reader("a.bin")
----> 2 reader.load()

File [~/env/lib/python3.11/site-packages/sheets/reader.py:71](https://editor.example/~/env/lib/python3.11/site-packages/sheets/reader.py:71), in Reader.load(self)
     70     """Load it."""
---> 71     return self._rows()

File c:\Users\someone\sheets\rows.py:12, in Rows._rows(self, strict)
     [11](file:///C:/Users/someone/sheets/rows.py:11)     x
---> [12](file:///C:/Users/someone/sheets/rows.py:12)     raise PickleError("cut")

PickleError: cut
`)
	if r.Type != "PickleError" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "_rows@rows.py", "load@reader.py", "<module>@<ipython-input>")
}

func TestAPageThatTookUnderscoresForBoldType(t *testing.T) {
	wantSame(t, changed(t, pythonTrace, "in parse", "in **init**"), changed(t, pythonTrace, "in parse", "in __init__"))
}

func TestATraceThatIsIndentedAsAWhole(t *testing.T) {
	for _, trace := range []string{pythonTrace, goTrace, javaTrace, nodeTrace} {
		wantSame(t, trace, prefixed(trace, func(int) string { return "        " }))
	}
	const served = "2026/02/11 09:42:13 http: panic serving 127.0.0.1:54063: no such sheet\ngoroutine 19 [running]:\npanic(0x1, 0x2)\n\t/usr/local/go/src/runtime/panic.go:679 +0x1b2\nmain.sheet(0x1)\n\t/srv/app/web.go:18 +0x373\n"
	wantSame(t, served, prefixed(served, func(int) string { return "    " }))
}

func TestWhatFollowsAnExceptionWithoutAMessageIsNoneOfIt(t *testing.T) {
	bare := strings.Replace(pythonTrace, "invoices.errors.HeaderError: bad magic b'\\x00\\x01' at 512", "AssertionError", 1)
	wantSame(t, bare, bare+"\n2026-02-11 09:42:14 INFO next document\n")
}

func TestDebuggersOfDotnet(t *testing.T) {
	const want = "Parser.Trailer@Acme.Pdf"
	for name, trace := range map[string]string{
		"call stack":    ">\tAcme.Pdf.dll!Acme.Pdf.Parser.Trailer(Acme.Pdf.Table table) Line 1063\tC#\n \tAcme.Pdf.dll!Acme.Pdf.Reader.Open(string path) Line 257\tC#\n \tjob.exe!Job.Program.Main(string[] args) Line 31\tC#\n",
		"was unhandled": "Acme.Pdf.TrailerException was unhandled\n  HResult=-2146233088\n  Message=No trailer\n  Source=Acme.Pdf\n  StackTrace:\n       в Acme.Pdf.Parser.Trailer(Table table)\n       в Acme.Pdf.Reader.Open(String path)\n",
		"occurred in":   "An exception of type 'Acme.Pdf.TrailerException' occurred in Acme.Pdf.dll but was not handled in user code\nAdditional information: No trailer\n   at Acme.Pdf.Parser.Trailer(Table table)\n   at Acme.Pdf.Reader.Open(String path)\n",
	} {
		r := ofTrace(trace)
		if r.Language != "dotnet" || len(r.Frames) < 2 || r.Frames[0].String() != want {
			t.Errorf("%s: %s\n%s", name, r.Language, r.Canonical)
		}
		if name != "call stack" && (r.Type != "TrailerException" || r.Message != "No trailer") {
			t.Errorf("%s: type %q, message %q", name, r.Type, r.Message)
		}
	}
}

func TestConsolesOfBrowsers(t *testing.T) {
	r := ofTrace("app.bundle.js:391 Error: Corrupted zip\nArchive.load @ app.bundle.js:390\nread [as open] @ app.bundle.js:244:7\nhandler @ zone.js:12\n")
	if r.Type != "Error" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "load@app.bundle.js", "read@app.bundle.js", "handler@zone.js")
}

func TestARejectionIsToldByItsReason(t *testing.T) {
	rejected := func(reason string) string {
		return "UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason \"" + reason + "\".\n" +
			"    at throwUnhandledRejectionsMode (node:internal/process/promises:392:7)\n    at processPromiseRejections (node:internal/process/promises:475:17) {\n  code: 'ERR_UNHANDLED_REJECTION'\n}\n"
	}
	wantApart(t, rejected("FormatError: bad entry"), rejected("PasswordException"))
	wantSame(t, rejected("FormatError: bad entry at 512"), rejected("FormatError: bad entry at 1024"))
}

func TestTheNextErrorOfALogIsNotTheCause(t *testing.T) {
	const stack = "    at read (/srv/app/lib/reader.js:12:9)\n    at run (/srv/app/worker.js:3:1)\n"
	wantSame(t, "Error: no worker\n"+stack, "Error: no worker\n"+stack+" ⨯ unhandledRejection: Error: no worker\n"+stack)
}

func TestFramesOfEvaluatedCodeAndOfPathsWithBlanks(t *testing.T) {
	r := ofTrace("ReferenceError: Blob is not defined\n    at Object.create (eval at <anonymous> (/srv/app/node_modules/pdf/lib/pdf.js:64:1), <anonymous>:1104:12)\n    at C:\\Users\\a\\Drive - Some Company\\lib\\index.js:1076:19\n    at run (/srv/app/worker.js:3:1)\n")
	wantFrames(t, r, "create@<eval>", "<anonymous>@index.js", "run@worker.js")
}

func TestTheLoggersErrorBeforeAQualifiedType(t *testing.T) {
	wantSame(t, javaTrace, "Error: "+javaTrace)
	r := ofTrace("2026-02-11 09:42:13 Error: [Acme\\Pdf\\TypeException] Stream expected.\nRequest URL: /reports/pdf\nStack Trace:\n#0 /srv/app/vendor/acme/pdf/src/Stream.php(101): Acme\\Pdf\\Type::ensure('x')\n#1 {main}\n")
	if r.Type != "TypeException" {
		t.Errorf("type %q", r.Type)
	}
}

func TestAMissingClassIsToldByItsName(t *testing.T) {
	missing := func(class string) string {
		return "PHP Fatal error:  Uncaught Error: Class " + class + " not found in /srv/app/Load.php:12\nStack trace:\n#0 /srv/app/run.php(3): Acme\\Load->open()\n#1 {main}\n  thrown in /srv/app/Load.php on line 12\n"
	}
	wantApart(t, missing(`"Acme\Sheet\Factory"`), missing(`"Acme\Word\Factory"`))
	wantSame(t, missing(`"Acme\Sheet\Factory"`), missing(`'Acme\Sheet\Factory'`))
	r := ofTrace("uninitialized constant Zip::File\n/srv/gems/sheets-2.4.1/lib/sheets/parser.rb:31:in `parse'\n/srv/app/seeds.rb:8:in `<main>'\n")
	if r.Type != "NameError" || !strings.Contains(r.Canonical, "Zip::File") {
		t.Errorf("%s", r.Canonical)
	}
}

func TestTheHeadingOfAPhpTraceAtTheEndOfItsMessage(t *testing.T) {
	const calls = "#0 ...\\src\\Parser.php(97): Acme\\Parser->content('%PDF-1.5\\n...')\n#1 {main} thrown in ...\\src\\Parser.php on line 118\n"
	wantSame(t, "Fatal error: Uncaught exception 'Exception' with message 'No objects.' in ...\\src\\Parser.php:118 Stack trace: \n"+calls,
		"Fatal error: Uncaught exception 'Exception' with message 'No objects.' in ...\\src\\Parser.php:118\nStack trace:\n"+calls)
}

func TestWhatWasLoggedBeforeAnErrorWithItsStack(t *testing.T) {
	const trace = "zip: not a valid zip file\nmain.open\n\t/srv/app/main.go:12\nmain.main\n\t/srv/app/main.go:31\n"
	wantSame(t, trace, "2026-02-11 09:42:12 INFO document a.pdf\n2026/02/11 09:42:13 opening\n"+trace)
}

func TestATestRunnerNamesWhatAScriptThrew(t *testing.T) {
	r := ofTrace(" [-] reads the sheet 124ms\n   RuntimeException: no such sheet\n   at Read-Sheet<Process>, C:\\m\\Sheets.psm1: line 324\n   at <ScriptBlock>, <No file>: line 20\n")
	if r.Type != "RuntimeException" {
		t.Errorf("type %q\n%s", r.Type, r.Canonical)
	}
}

func TestFoldersOfWindowsThatBeginLikeAnEscapedLineBreak(t *testing.T) {
	const trace = "Error: no directory\n    at Zip.end (/srv/app/node_modules/docs/node_modules/zip/lib/entries.js:149:23)\n    at Zip.load (/srv/app/node_modules/docs/node_modules/zip/lib/entries.js:215:14)\n    at open (/srv/app/node_modules/docs/lib/zipfile.js:8:19)\n"
	wantSame(t, trace, strings.ReplaceAll(strings.ReplaceAll(trace, "/", `\`), `(\`, `(C:\`))
}

func TestEachLineOfATraceIsTheEventOfARecord(t *testing.T) {
	var b strings.Builder
	for line := range strings.Lines(pythonTrace) {
		b.WriteString(jsonOf(t, object{"event": strings.TrimSuffix(line, "\n"), "timestamp": "2026-02-11T09:42:13.511Z"}) + "\n")
	}
	wantSame(t, pythonTrace, b.String())
}

func TestATranslatedDotnetTraceThatLostItsIndentation(t *testing.T) {
	r := ofTrace("Acme.Pdf.TrailerException\nHResult=0x80131500\nMessaggio=No trailer\nOrigine=Acme.Pdf\nAnalisi dello stack:\nin Acme.Pdf.Parser.Trailer(Table table)\nin Acme.Pdf.Reader.Open(String path) in C:\\src\\Reader.cs: riga 19\n")
	if r.Type != "TrailerException" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "Parser.Trailer@Acme.Pdf", "Reader.Open@Acme.Pdf")
}

func TestALoggersWordsAroundWhatPhpDidNotCatch(t *testing.T) {
	r := ofTrace("ERROR Acme\\Front[2026-02-11 09:42:13 UTC] [93925] Uncaught exception: TypeError: bad argument in /srv/app/fonts.php:12\nERROR Acme\\Front[2026-02-11 09:42:13 UTC] [93925] Stack trace:\nERROR Acme\\Front[2026-02-11 09:42:13 UTC] [93925] #0 /srv/app/fonts.php(12): array_map(Array, false)\nERROR Acme\\Front[2026-02-11 09:42:13 UTC] [93925] #1 /srv/app/pdf.php(3): Fonts::split('a')\n")
	if r.Type != "TypeError" {
		t.Errorf("type %q", r.Type)
	}
}

func TestEachLineBehindAnExclamationMark(t *testing.T) {
	wantSame(t, javaTrace, "ERROR [2026-02-11 09:42:13,511] com.example.Worker: failed\n"+prefixed(javaTrace, func(int) string { return "! " }))
}

func TestAPanicThatAServerRecoveredWithAddresses(t *testing.T) {
	r := ofTrace("2026/02/11 09:42:13 [Recovery] panic recovered:\nindex out of range [3] with length 2\n/usr/local/go/src/runtime/panic.go:884 (0x43a2f4)\n\tgopanic: done = runOpenDeferFrame(d)\n/usr/local/go/src/runtime/panic.go:113 (0x43a2f5)\n\tgoPanicIndex: panic(boundsError{x: int64(x)})\n/go/pkg/mod/example.com/pdf@v0.1.0/page.go:33 (0x7a1b2c)\n\t(*Reader).Page: return r.pages[n]\n/srv/main.go:12 (0x7a1b2d)\n\trun: r.Page(3)\n")
	if r.Type != "panic" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "(*Reader).Page@page.go", "run@main.go")
}
