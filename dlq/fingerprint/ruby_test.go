package fingerprint

import (
	"strings"
	"testing"
)

const (
	rubyTrace = "/srv/gems/invoices-1.2.3/lib/invoices/header.rb:12:in `parse': bad magic 0x0001 at 512 (Invoices::HeaderError)\n" +
		"\tfrom /srv/gems/invoices-1.2.3/lib/invoices/reader.rb:88:in `block in read'\n" +
		"\tfrom /srv/gems/invoices-1.2.3/lib/invoices/reader.rb:80:in `open'\n" +
		"\tfrom /srv/app/worker.rb:41:in `run'\n"
	rubyKids = "\tfrom /gems/pdf-2.0/lib/pdf/doc.rb:3:in `open'\n\tfrom /app/job.rb:7:in `run'\n"
)

func TestRubyFramesAreReadInEveryForm(t *testing.T) {
	for line, want := range map[string]string{
		"\tfrom /a/b.rb:9:in `parse'":                                            "parse@b.rb",
		"\tfrom C:/Ruby32/lib/b.rb:9:in `parse'":                                 "parse@b.rb",
		"\tfrom /a/b.rb:9:in 'PDF::Page#parse'":                                  "parse@b.rb",
		"\tfrom /a/b.rb:9:in 'PDF::Page.parse'":                                  "parse@b.rb",
		"\tfrom /a/b.rb:9:in 'block (2 levels) in PDF::Page#parse'":              "parse@b.rb",
		"\tfrom /a/b.rb:9:in `block in parse'":                                   "parse@b.rb",
		"\tfrom /a/b.rb:9:in `rescue in block in parse'":                         "parse@b.rb",
		"\tfrom /a/b.rb:9:in `ensure in parse'":                                  "parse@b.rb",
		"\tfrom /a/b.rb:9:in `<main>'":                                           "<main>@b.rb",
		"\tfrom /a/b.rb:9:in `<top (required)>'":                                 "<top (required)>@b.rb",
		"\tfrom /a/b.rb:9:in `block in <class:Page>'":                            "<class:Page>@b.rb",
		"\tfrom /a/b.rb:9:in `[]='":                                              "[]=@b.rb",
		"\tfrom /a/b.rb:9:in 'PDF::Hash#[]'":                                     "[]@b.rb",
		"\tfrom /a/b.rb:9:in `==='":                                              "===@b.rb",
		"\tfrom <internal:kernel>:187:in `loop'":                                 "loop@<internal:kernel>",
		"\tfrom (eval at /a/b.rb:3):1:in `parse'":                                "parse@(eval)",
		"\tfrom (eval):1:in `parse'":                                             "parse@(eval)",
		"\tfrom /a/b.rb:9:in `#<Class:0x000055d0c0ffee>'":                        "#<Class>@b.rb",
		"\tfrom app/views/x.html.erb:2:in `_app_views_x_html_erb___1234567_890'": "_app_views_x_html_erb@x.html.erb",
		"/a/b.rb:9:in `parse'":                                                   "parse@b.rb",
		"  pdf (2.0.1) lib/pdf/b.rb:9:in `parse'":                                "parse@b.rb",
		"     # ./lib/b.rb:9:in `parse'":                                         "parse@b.rb",
		"  \"/a/b.rb:9:in `parse'\",":                                            "parse@b.rb",
		"        12: from /a/b.rb:9:in `parse'":                                  "parse@b.rb",
		"\tfrom /a/b.rb:9":                                                       "@b.rb",
		"  parse at /a/b.rb:9":                                                   "parse@b.rb",
		"/a/b.rb:9:in `parse': it broke: /c/d.rb:1:in `x' (E)":                   "parse@b.rb",
		"  File \"/a/b.py\", line 9, in parse":                                   "",
		"    at parse (/a/b.js:1:2)":                                             "",
		"2026-02-11 09:42:13 in the log":                                         "",
		"/a/b.go:12 in main.run at line 9":                                       "",
	} {
		got := ""
		if f := rubyFrame(line); f != nil {
			got = f.String()
		}
		if got != want {
			t.Errorf("%s\n read as %q, want %q", line, got, want)
		}
	}
}

func TestRubyVersionsPrintTheSameFailure(t *testing.T) {
	modern := changed(t, rubyTrace, "`parse'", "'Invoices::Header.parse'", "`block in read'", "'block in Invoices::Reader#read'", "`open'", "'File.open'", "`run'", "'Worker#run'")
	wantSame(t, rubyTrace, modern)
	reversed := "Traceback (most recent call last):\n" +
		"\t3: from /srv/app/worker.rb:41:in `run'\n\t2: from /srv/gems/invoices-1.2.3/lib/invoices/reader.rb:80:in `open'\n\t1: from /srv/gems/invoices-1.2.3/lib/invoices/reader.rb:88:in `block in read'\n" +
		"/srv/gems/invoices-1.2.3/lib/invoices/header.rb:12:in `parse': bad magic 0x0001 at 512 (Invoices::HeaderError)\n"
	wantSame(t, rubyTrace, reversed)
	wantSame(t, rubyTrace, "Traceback (most recent call last):\n"+strings.SplitAfterN(reversed, "\n", 2)[1])
	coloured := changed(t, rubyTrace, "bad magic 0x0001 at 512 (Invoices::HeaderError)", "\x1b[1mbad magic 0x0001 at 512 (\x1b[1;4mInvoices::HeaderError\x1b[m\x1b[1m)\x1b[m")
	wantSame(t, rubyTrace, coloured)
}

func TestRubyLogFormsAreRead(t *testing.T) {
	frames := strings.ReplaceAll(rubyTrace[strings.IndexByte(rubyTrace, '\n')+1:], "\tfrom ", "")
	first := "/srv/gems/invoices-1.2.3/lib/invoices/header.rb:12:in `parse'\n"
	for _, head := range []string{
		"Invoices::HeaderError: bad magic 0x0001 at 512\n",
		"Invoices::HeaderError (bad magic 0x0001 at 512):\n\n",
		"Invoices::HeaderError - bad magic 0x0001 at 512:\n",
		"#<Invoices::HeaderError: bad magic 0x0001 at 512>\n",
		"rake aborted!\nInvoices::HeaderError: bad magic 0x0001 at 512\n",
		"E, [2026-02-11T09:42:13.123456 #7] ERROR -- : Invoices::HeaderError: bad magic 0x0001 at 512\n",
		"2026-02-11T09:42:13.123Z pid=7 tid=abc WARN: Invoices::HeaderError: bad magic 0x0001 at 512\n",
	} {
		wantSame(t, rubyTrace, head+first+frames)
	}
	wantSame(t, rubyTrace, `{"lvl":"WARN","error_class":"Invoices::HeaderError","error_message":"bad magic 0x0001 at 512","error_backtrace":[`+quoteJSON(strings.TrimSpace(first))+","+strings.ReplaceAll(quoteJSON(strings.TrimSpace(frames)), `\n`, `","`)+"]}")
	irb := "Traceback (most recent call last):\n        2: from /app/job.rb:7:in `run'\n        1: from /gems/pdf/lib/pages.rb:9:in `kids'\nPDF::PageError (no kids)\n"
	if r := ofTrace(irb); r.Type != "PageError" || r.Message != "no kids" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
	wantFrames(t, ofTrace(irb), "kids@pages.rb", "run@job.rb")
}

func TestRubySecondBlockIsTheCause(t *testing.T) {
	cause := "/gems/pdf/lib/pages.rb:9:in `kids': no kids (PDF::PageError)\n" + rubyKids
	wrapped := "/app/job.rb:21:in `rescue in run': document failed (StageError)\n\tfrom /app/job.rb:18:in `run'\n" + cause
	r := ofTrace(wrapped)
	if r.Type != "StageError" || r.RootType != "PageError" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
	wantFrames(t, r, "kids@pages.rb", "open@doc.rb", "run@job.rb")
	rake := "rake aborted!\nStageError: document failed\n/app/job.rb:21:in `rescue in run'\n/app/job.rb:18:in `run'\n\nCaused by:\nPDF::PageError: no kids\n/gems/pdf/lib/pages.rb:9:in `kids'\n" + strings.ReplaceAll(rubyKids, "\tfrom ", "")
	wantSame(t, wrapped, rake)
	reversed := "Traceback (most recent call last):\n\t2: from /app/job.rb:7:in `run'\n\t1: from /gems/pdf-2.0/lib/pdf/doc.rb:3:in `open'\n/gems/pdf/lib/pages.rb:9:in `kids': no kids (PDF::PageError)\n" +
		"\t1: from /app/job.rb:18:in `run'\n/app/job.rb:21:in `rescue in run': document failed (StageError)\n"
	wantSame(t, wrapped, reversed)
	// Another failure that was logged later is none.
	wantSame(t, cause, cause+"INFO next\n"+rubyTrace)
}

func TestRubyMessageOfManyLines(t *testing.T) {
	r := ofTrace("/app/page.rb:9:in `kids': undefined method `each' for nil:NilClass (NoMethodError)\n\n  kids.each do\n      ^^^^^\nDid you mean?  itself\n" + rubyKids)
	if r.Type != "NoMethodError" || r.Template != "undefined method 'each'" {
		t.Errorf("type %q, template %q", r.Type, r.Template)
	}
	wantFrames(t, r, "kids@page.rb", "open@doc.rb", "run@job.rb")
	r = ofTrace("/app/page.rb:9:in `kids': first\nsecond (PDF::PageError)\n" + rubyKids)
	if r.Type != "PageError" || r.Message != "first" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
	wantFrames(t, r, "kids@page.rb", "open@doc.rb", "run@job.rb")
}

func TestRubyMissingMethodIsNamedWithoutItsReceiver(t *testing.T) {
	old := func(name string) string {
		return "/gems/pdf/lib/pages.rb:9:in `kids': undefined method `" + name + "' for nil:NilClass (NoMethodError)\n" + rubyKids
	}
	wantSame(t, old("each"), changed(t, old("each"), "`each' for nil:NilClass", "'each' for nil"))
	wantSame(t, old("each"), changed(t, old("each"), "for nil:NilClass", "for #<PDF::Page:0x000055d0c0ffee>"))
	wantSame(t, old("each"), changed(t, old("each"), "for nil:NilClass", "for an instance of PDF::Page"))
	wantApart(t, old("each"), old("map"))
}

func TestRubyLimitedBacktraceAndInternalFrames(t *testing.T) {
	bare := "/gems/pdf/lib/pages.rb:9:in `kids': no kids (PDF::PageError)\n" + rubyKids
	wantSame(t, bare, bare+"\t ... 31 levels...\n\tfrom /app/job.rb:1:in `<main>'\n")
	cfunc := "/gems/pdf/lib/pages.rb:9:in `kids': no kids (PDF::PageError)\n\tfrom /gems/pdf/lib/doc.rb:3:in `each'\n\tfrom /gems/pdf/lib/doc.rb:3:in `open'\n"
	wantSame(t, cfunc, changed(t, cfunc, "/gems/pdf/lib/doc.rb:3:in `each'", "<internal:array>:42:in 'Array#each'"))
}

func TestRubyStackOverflowIsItsCycle(t *testing.T) {
	cycle := "\tfrom /gems/pdf/lib/pages.rb:1:in `walk'\n\tfrom /gems/pdf/lib/kids.rb:2:in `each'\n"
	a := "/gems/pdf/lib/kids.rb:3:in `each': stack level too deep (SystemStackError)\n" + strings.Repeat(cycle, 90)
	b := "/gems/pdf/lib/pages.rb:1:in `walk': stack level too deep (SystemStackError)\n" + strings.Repeat("\tfrom /gems/pdf/lib/kids.rb:2:in `each'\n\tfrom /gems/pdf/lib/pages.rb:1:in `walk'\n", 60)
	wantSame(t, a, b)
}

func TestRubyOwnCodeAroundABuiltInNeedsTheMessage(t *testing.T) {
	a := "/app/job.rb:16:in `split': invalid byte sequence in UTF-8 (ArgumentError)\n\tfrom /app/job.rb:16:in `run'\n"
	wantApart(t, a, changed(t, a, "invalid byte sequence in UTF-8", "negative limit"))
}
