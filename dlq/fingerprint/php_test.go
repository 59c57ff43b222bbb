package fingerprint

import (
	"strings"
	"testing"
)

const phpTrace = "PHP Fatal error:  Uncaught Invoices\\HeaderException: bad magic 0x0001 at 512 in /srv/vendor/acme/invoices/src/Header.php:12\nStack trace:\n" +
	"#0 /srv/vendor/acme/invoices/src/Reader.php(88): Invoices\\Header->parse('%PDF-1.4\\r%\\xE2')\n" +
	"#1 /srv/app/Worker.php(41): Invoices\\Reader::read('/data/in/a...')\n" +
	"#2 /srv/app/run.php(3): Worker->run()\n#3 {main}\n  thrown in /srv/vendor/acme/invoices/src/Header.php on line 12\n"

var phpTraceFrames = []string{"Invoices\\Header->parse@Header.php", "Invoices\\Reader::read@Reader.php", "Worker->run@Worker.php"}

func TestPHPCallsStandInTheFileThatTheNextInnerOneWasMadeFrom(t *testing.T) {
	r := ofTrace(phpTrace)
	if r.Type != "HeaderException" || r.Message != "bad magic 0x0001 at 512" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
	wantFrames(t, r, phpTraceFrames...)
}

func TestPHPSameFailureInEveryForm(t *testing.T) {
	frames := phpTrace[strings.Index(phpTrace, "#0"):strings.Index(phpTrace, "  thrown")]
	for name, trace := range map[string]string{
		"CLI":        strings.TrimPrefix(phpTrace, "PHP "),
		"__toString": "Invoices\\HeaderException: bad magic 0x0001 at 512 in /srv/vendor/acme/invoices/src/Header.php:12\nStack trace:\n" + frames,
		"PHP 5":      "PHP Fatal error:  Uncaught exception 'Invoices\\HeaderException' with message 'bad magic 0x0001 at 512' in /srv/vendor/acme/invoices/src/Header.php:12\nStack trace:\n" + frames,
		"Laravel": "[2026-02-11 09:42:13] production.ERROR: bad magic 0x0001 at 512 {\"exception\":\"[object] (Invoices\\\\HeaderException(code: 0): bad magic 0x0001 at 512 at /srv/vendor/acme/invoices/src/Header.php:12)\n[stacktrace]\n" +
			strings.ReplaceAll(frames, "\\", "\\\\") + "\"} \n",
		"Symfony": "[2026-02-11T09:42:13.1+00:00] request.CRITICAL: Uncaught PHP Exception Invoices\\HeaderException: \"bad magic 0x0001 at 512\" at /srv/vendor/acme/invoices/src/Header.php line 12 {\"exception\":\"[object] (Invoices\\\\HeaderException(code: 0): bad magic 0x0001 at 512 at /srv/vendor/acme/invoices/src/Header.php:12)\n[stacktrace]\n" + frames,
		"console": "In Header.php line 12:\n                         \n  [Invoices\\HeaderException]  \n  bad magic 0x0001 at 512  \n                         \n\nException trace:\n  at /srv/vendor/acme/invoices/src/Header.php:12\n" +
			" Invoices\\Header->parse() at /srv/vendor/acme/invoices/src/Reader.php:88\n Invoices\\Reader::read() at /srv/app/Worker.php:41\n Worker->run() at /srv/app/run.php:3\n",
		"Xdebug": "PHP Fatal error:  Uncaught Invoices\\HeaderException: bad magic 0x0001 at 512 in /srv/vendor/acme/invoices/src/Header.php on line 12\nPHP Stack trace:\nPHP   1. {main}() /srv/app/run.php:0\nPHP   2. Worker->run() /srv/app/run.php:3\n" +
			"PHP   3. Invoices\\Reader::read($path = '/data') /srv/app/Worker.php:41\nPHP   4. Invoices\\Header->parse($s = '%PDF (x) /a.php:1') /srv/vendor/acme/invoices/src/Reader.php:88\n",
		"one line": strings.Join(strings.Fields(phpTrace), " "),
		"HTML":     "<br />\n<b>Fatal error</b>:  Uncaught Invoices\\HeaderException: bad magic 0x0001 at 512 in /srv/vendor/acme/invoices/src/Header.php:12\nStack trace:\n" + strings.ReplaceAll(frames, "->", "-&gt;") + "  thrown in <b>/srv/vendor/acme/invoices/src/Header.php</b> on line <b>12</b><br />\n",
		"Drupal":   "Invoices\\HeaderException: bad magic 0x0001 at 512 in Invoices\\Header->parse() (line 12 of /srv/vendor/acme/invoices/src/Header.php).\n" + frames,
		"Windows":  strings.NewReplacer("/srv/vendor/acme/invoices/src/", "C:\\srv\\vendor\\acme\\invoices\\src\\", "/srv/app/", "C:\\Program Files (x86)\\app\\").Replace(phpTrace),
		"pool":     prefixed(phpTrace, func(int) string { return "[11-Feb-2026 09:42:13] WARNING: [pool www] child 7 said into stderr: " }),
		"Laravel's console": "\n   Invoices\\HeaderException \n\n  bad magic 0x0001 at 512\n\n  at srv/vendor/acme/invoices/src/Header.php:12\n      11▕     }\n  ➜  12▕     throw new HeaderException($m);\n\n" +
			"  1   srv/vendor/acme/invoices/src/Reader.php:88\n      Invoices\\Header::parse(\"%PDF\")\n\n      +3 vendor frames \n",
		"CodeIgniter": "CRITICAL - 2026-02-11 09:42:13 --> Invoices\\HeaderException: bad magic 0x0001 at 512\nin VENDORPATH/acme/Header.php on line 12.\n" + strings.NewReplacer("#0", " 1", "#1", " 2", "#2", " 3", "#3 {main}", "").Replace(frames),
		"Laravel's JSON": `{"message":"bad magic 0x0001 at 512","exception":"Invoices\\HeaderException","file":"/srv/vendor/acme/invoices/src/Header.php","line":12,"trace":[` +
			`{"file":"/srv/vendor/acme/invoices/src/Reader.php","line":88,"function":"parse","class":"Invoices\\Header","type":"->"},{"file":"/srv/app/Worker.php","line":41,"function":"read","class":"Invoices\\Reader","type":"::"},` +
			`{"file":"/srv/app/run.php","line":3,"function":"run","class":"Worker","type":"->"}]}`,
		"Apache": "[Wed Feb 11 09:42:13.123 2026] [php:error] [pid 7] [client 192.0.2.7:4711] " + strings.ReplaceAll(strings.TrimSuffix(phpTrace, "\n"), "\n", "\\n") + ", referer: http://example.test/",
	} {
		r := ofTrace(trace)
		if r.Type != "HeaderException" || r.Message != "bad magic 0x0001 at 512" || r.Language != "php" {
			t.Errorf("%s: language %q, type %q, message %q", name, r.Language, r.Type, r.Message)
		}
		if name == "Laravel's console" {
			wantFrames(t, r, "Invoices\\Header::parse@Header.php")
			continue
		}
		wantFrames(t, r, phpTraceFrames...)
		if r.Digest != ofTrace(phpTrace).Digest {
			t.Errorf("%s\n%s", name, r.Canonical)
		}
	}
}

func TestPHPWrapperComesLast(t *testing.T) {
	frames := "Stack trace:\n#0 /srv/vendor/pdf/Doc.php(3): Pdf\\Pages->kids()\n#1 /app/job.php(9): Pdf\\Doc->open('x')\n#2 {main}\n"
	printed := "PHP Fatal error:  Uncaught Pdf\\PageException: no kids in /srv/vendor/pdf/Pages.php:7\n" + frames + "\nNext StageException: document failed in /app/job.php:21\nStack trace:\n#0 /app/main.php(30): Job->run()\n#1 {main}\n  thrown in /app/job.php on line 21\n"
	r := ofTrace(printed)
	if r.Type != "StageException" || r.RootType != "PageException" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
	wantFrames(t, r, "Pdf\\Pages->kids@Pages.php", "Pdf\\Doc->open@Doc.php", "{main}@job.php")
	logged := "[2026-02-11 09:42:13] production.ERROR: document failed {\"exception\":\"[object] (StageException(code: 0): document failed at /app/job.php:21)\n[stacktrace]\n#0 /app/main.php(30): Job->run()\n#1 {main}\n\n" +
		"[previous exception] [object] (Pdf\\\\PageException(code: 0): no kids at /srv/vendor/pdf/Pages.php:7)\n[stacktrace]\n" + strings.ReplaceAll(strings.TrimPrefix(frames, "Stack trace:\n"), "\\", "\\\\") + "\"} \n"
	wantSame(t, printed, logged)
	old := changed(t, printed, "Uncaught Pdf\\PageException: no kids in", "Uncaught exception 'Pdf\\PageException' with message 'no kids' in", "Next StageException: document failed in", "Next exception 'StageException' with message 'document failed' in")
	wantSame(t, printed, old)
}

func TestPHPArgumentsAreNeverRead(t *testing.T) {
	for _, argument := range []string{
		"%PDF (a) {b} \\'c\\' #1 /x.php(1): evil()", "a'), evil('b", "\xe2\xe3\xcf\xd3", "two\nlines", "two\n#0 /x.php(1): evil()\nlines", "a\r\nStack trace:", "{closure:x()", "@anonymous", "((((", "in /x.php:1", "",
	} {
		wantSame(t, phpTrace, changed(t, phpTrace, "%PDF-1.4\\r%\\xE2", argument))
	}
}

func TestPHPFunctionsAreNormalised(t *testing.T) {
	for printed, want := range map[string]string{
		"Pdf\\Pages->kids('x')":                                              "Pdf\\Pages->kids",
		"Pdf\\Pages::kids()":                                                 "Pdf\\Pages::kids",
		"Pdf\\\\Pages->kids()":                                               "Pdf\\Pages->kids",
		"{closure}(Array, 0)":                                                "{closure}",
		"Pdf\\{closure}(1)":                                                  "{closure}",
		"Pdf\\Pages->{closure}(1)":                                           "Pdf\\Pages->{closure}",
		"Pdf\\Pages->Pdf\\{closure}(1)":                                      "Pdf\\Pages->{closure}",
		"Pdf\\Pages->{closure:Pdf\\Pages::kids():24}(1)":                     "Pdf\\Pages->{closure}",
		"{closure:/app/job.php:3}(1)":                                        "{closure}",
		"{closure:{closure:Job::run():3}:4}(1)":                              "{closure}",
		"class@anonymous/app/job.php:12$0->run(1)":                           "class@anonymous->run",
		"Pdf\\Pages@anonymous/app (x)/job.php:12$1a::run(1)":                 "Pdf\\Pages@anonymous::run",
		"__TwigTemplate_0123456789abcdef0123456789abcdef->doDisplay(Array)":  "__TwigTemplate->doDisplay",
		"include('/app/x.php')":                                              "include",
		"ContainerX7yZ2aB\\App_KernelDevDebugContainer->getPdfService(true)": "Container\\App_KernelDevDebugContainer->getPdfService",
	} {
		if got := phpFunction(printed); got != want {
			t.Errorf("%s read as %q, want %q", printed, got, want)
		}
	}
	for path, want := range map[string]string{
		"/a/b.php": "b.php", "C:\\a\\b.php": "b.php", "C:/a\\b.php": "b.php", "phar:///usr/bin/x.phar/src/b.php": "b.php", "/a/b.php(12) : eval()'d code": "b.php",
		"/storage/framework/views/0123456789abcdef0123456789abcdef01234567.php": "<hash>.php", "[internal function]": "[internal function]",
	} {
		if got := phpUnit(path); got != want {
			t.Errorf("%s read as %q, want %q", path, got, want)
		}
	}
}

func TestPHPErrorsNeedTheMessage(t *testing.T) {
	a := "Fatal error: Uncaught Error: Call to undefined function Pdf\\mb_strlen() in /srv/vendor/pdf/Pages.php:7\nStack trace:\n#0 /srv/vendor/pdf/Doc.php(3): Pdf\\Pages->kids()\n#1 {main}\n"
	wantApart(t, a, changed(t, a, "mb_strlen", "gzuncompress"))
	cell := "Uncaught PhpOffice\\Calculation\\Exception: Sheet 1!A1 -> Sheet 1!O1 -> Formula Error: unexpected in /srv/vendor/x/Cell.php:7\nStack trace:\n#0 /srv/vendor/x/Sheet.php(3): X\\Cell->value()\n#1 {main}\n"
	wantSame(t, cell, changed(t, cell, "Sheet 1!A1 -> Sheet 1!O1", "Sums!BC12"))
}

func TestPHPTraceWithoutAHeaderGoesByTheClass(t *testing.T) {
	frames := phpTrace[strings.Index(phpTrace, "#0"):strings.Index(phpTrace, "  thrown")]
	r := Of(Input{ErrorType: "Invoices\\HeaderException", ErrorMessage: "bad magic", Trace: frames})
	if r.Type != "HeaderException" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, phpTraceFrames...)
}

func TestPHPErrorWithoutAStackIsItsMessage(t *testing.T) {
	a := "PHP Fatal error:  Allowed memory size of 134217728 bytes exhausted (tried to allocate 20480 bytes) in /srv/vendor/pdf/Pages.php on line 7\n"
	if r := ofTrace(a); r.Mode != ModeMessage {
		t.Errorf("mode %s", r.Mode)
	}
	wantSame(t, a, changed(t, a, "134217728", "268435456", "20480", "4096"))
}

func TestPHPHandlersAboveTheErrorAreSkipped(t *testing.T) {
	bare := "ErrorException: Undefined array key in /srv/vendor/pdf/Pages.php:7\nStack trace:\n#0 /srv/vendor/pdf/Doc.php(3): Pdf\\Pages->kids()\n#1 /app/job.php(9): Pdf\\Doc->open('x')\n#2 {main}\n"
	handled := "ErrorException: Undefined array key in /srv/vendor/pdf/Pages.php:7\nStack trace:\n#0 /srv/vendor/pdf/Pages.php(7): Illuminate\\Foundation\\Bootstrap\\HandleExceptions->handleError(8, 'x')\n#1 /srv/vendor/pdf/Doc.php(3): Pdf\\Pages->kids()\n#2 /app/job.php(9): Pdf\\Doc->open('x')\n#3 {main}\n"
	wantSame(t, bare, handled)
}
