package fingerprint

import (
	"strings"
	"testing"
)

const (
	dotnetTrace = `Acme.Invoices.HeaderException: bad magic 0x0001 at 512
   at Acme.Invoices.Header.Parse(Stream stream, Int32 offset) in C:\src\Invoices\Header.cs:line 12
   at Acme.Invoices.Reader.Read(String path) in C:\src\Invoices\Reader.cs:line 88
   at Acme.Worker.Run() in C:\src\Worker.cs:line 41
`
	dotnetKids = "   at Org.Pdf.Pages.Kids(PdfName name)\n   at Org.Pdf.Document.Open(Stream stream)\n   at Acme.Job.Run()\n"
)

func TestDotnetFramesAreReadInEveryForm(t *testing.T) {
	for line, want := range map[string]string{
		"   at Acme.Header.Parse(String name) in C:\\a b\\Header.cs:line 12":                           "Header.Parse@Acme",
		"   bei Acme.Header.Parse(String name) in C:\\a\\Header.cs:Zeile 12.":                          "Header.Parse@Acme",
		"   à Acme.Header.Parse(String name) dans C:\\a\\Header.cs:ligne 12":                           "Header.Parse@Acme",
		"   en Acme.Header.Parse(String name) en C:\\a\\Header.cs:línea 12":                            "Header.Parse@Acme",
		"   в Acme.Header.Parse(String name) в C:\\a\\Header.cs:строка 12":                             "Header.Parse@Acme",
		"   在 Acme.Header.Parse(String name) 位置 C:\\a\\Header.cs:行号 12":                                "Header.Parse@Acme",
		"   場所 Acme.Header.Parse(String name) 場所 C:\\a\\Header.cs:行 12":                                "Header.Parse@Acme",
		"   위치: Acme.Header.Parse(String name) 파일 C:\\a\\Header.cs:줄 12":                               "Header.Parse@Acme",
		"   konum: Acme.Header.Parse(String name)":                                                     "Header.Parse@Acme",
		"   a következő helyen: Acme.Header.Parse(String name)":                                        "Header.Parse@Acme",
		"   w Acme.Header.Parse(String name) w /src/Header.cs:wiersz 12":                               "Header.Parse@Acme",
		"   at Acme.Box`1.Put[TKey,TValue](Dictionary`2 d, List`1 l)":                                  "Box`1.Put@Acme",
		"   at Acme.Box`1[System.String].Put[T](T x)":                                                  "Box`1.Put@Acme",
		"   at Acme.Header..ctor(Stream s)":                                                            "Header..ctor@Acme",
		"   at Acme.Header..cctor()":                                                                   "Header..cctor@Acme",
		"   at Acme.Reader.<ReadAsync>d__12.MoveNext() in /src/Reader.cs:line 9":                       "Reader.ReadAsync@Acme",
		"   at Acme.Reader.<ReadAsync>d__12`1.MoveNext()":                                              "Reader.ReadAsync@Acme",
		"   at Acme.Reader.<>c__DisplayClass2_0.<Run>b__0()":                                           "Reader.Run.lambda@Acme",
		"   at Acme.Reader.<>c.<Run>b__7_1(Page p)":                                                    "Reader.Run.lambda@Acme",
		"   at Acme.Reader.<>c__DisplayClass5_0.<<RunAsync>b__1>d.MoveNext()":                          "Reader.RunAsync.lambda@Acme",
		"   at Acme.Reader.<Run>g__Check|3_0(Int32 n)":                                                 "Reader.Run.Check@Acme",
		"   at Program.<<Main>$>g__Check|0_0(String s)":                                                "Program.Main.Check@",
		"   at Program.<Main>$(String[] args) in /src/Program.cs:line 3":                               "Program.Main@",
		"   at Acme.Pages.Walk()+MoveNext() in /src/Pages.cs:line 3":                                   "Pages.Walk@Acme",
		"   at Acme.Reader._Closure$__3-0._Lambda$__1(Object o)":                                       "Reader.lambda@Acme",
		"   at Acme.Reader.VB$StateMachine_12_LoadAsync.MoveNext() in C:\\a\\Reader.vb:line 9":         "Reader.LoadAsync@Acme",
		"   at Acme.Reader.load@14-1.Invoke(Unit _arg1)":                                               "Reader.load.Invoke@Acme",
		"   at  Acme.Header.Parse(String name) in Header.cs: line 12":                                  "Header.Parse@Acme",
		"   at lambda_method42(Closure, Object, Object[])":                                             "lambda_method@",
		"   at lambda_method(Closure , Object , Object[] )":                                            "lambda_method@",
		"  at Acme.Outer+Inner.Parse (System.String s, System.Int32& n) [0x0001a] in <8f2e4a>:0 ":      "Inner.Parse@Acme.Outer",
		"  at Acme.Header.Parse (System.String s) [0x00000] in /src/Header.cs:12":                      "Header.Parse@Acme",
		"  at Acme.Header.Parse (System.String s) <0x41a2b0 + 0x00043> in <8f2e4a#1>:0 ":               "Header.Parse@Acme",
		"  at (wrapper managed-to-native) Acme.Native.Open(string)":                                    "Native.Open@Acme",
		"  at (wrapper remoting-invoke-with-check) Acme.Native:Open (string)":                          "Native.Open@Acme",
		"  at Acme.Pages+<Walk>c__Iterator0.MoveNext () [0x00000] in <filename unknown>:0 ":            "Pages.Walk@Acme",
		"  at Acme.Pages+<Walk>c__AnonStorey1.<>m__0 (Acme.Page p) [0x00000] in <filename unknown>:0 ": "Pages.Walk.lambda@Acme",
		"   at async Task<Page> Acme.Reader.ReadAsync(string path, int? n) in /src/Reader.cs:line 9":   "Reader.ReadAsync@Acme",
		"   at void Acme.Reader.Read(string path, List<(int, string)> l)":                              "Reader.Read@Acme",
		"   at (int a, string b) Acme.Box<TKey, TValue>.Get<T>(TKey key)":                              "Box`2.Get@Acme",
		"   at new Acme.Header(Stream s) in /src/Header.cs:line 9":                                     "Header..ctor@Acme",
		"   at static Acme.Header()":                                                                   "Header..cctor@Acme",
		"   at void Acme.Reader.Run()+Check(int n)":                                                    "Reader.Run.Check@Acme",
		"   at IEnumerable<Page> Acme.Pages.Walk()+MoveNext()":                                         "Pages.Walk@Acme",
		"   at void Acme.Reader.Run()+(Page p) => { } in /src/Reader.cs:line 7":                        "Reader.Run.lambda@Acme",
		"   at Acme.Header.Parse(String name) + 0x4f":                                                  "Header.Parse@Acme",
		"StackTrace:    at Acme.Header.Parse(String name)":                                             "Header.Parse@Acme",
		"  C:\\src\\Header.cs(12,0): at Acme.Header.Parse(String name)":                                "Header.Parse@Acme",
		"Acme.Header.Parse (System.String s) (at Assets/Scripts/Header.cs:12)":                         "Header.Parse@Acme",
		"   Acme.Header.Parse(String name) +123":                                                       "Header.Parse@Acme",
		"   at Acme.Header.Parse(String name)<---":                                                     "Header.Parse@Acme",
		"at Acme.Header.Parse(String name)":                                                            "Header.Parse@Acme",
		"   at Acme.List.System.Collections.Generic.IEnumerable<T>.GetEnumerator()":                    "IEnumerable`1.GetEnumerator@Acme.List.System.Collections.Generic",
		"   at CallSite.Target(Closure , CallSite , Object )":                                          "CallSite.Target@",
		"   at Acme.Box.Каталог.Открыть(String имя)":                                                   "Каталог.Открыть@Acme.Box",
		"    at read (/a/reader.js:1:2)":                                                               "",
		"    at Header.parse (/a/b.js:1:2)":                                                            "",
		"    at Array.map (<anonymous>)":                                                               "",
		"    at async Promise.all (index 0)":                                                           "",
		"\tat com.a.B.c(B.java:9)":                                                                     "",
		"\tat com.a.B.c(Native Method)":                                                                "",
		"\tat com.a.B.c(Unknown Source) ~[b.jar:1.0]":                                                  "",
		"    return reader.pages(name)":                                                                "",
		"look at this (maybe)":                                                                         "",
		"   at the end of the file (see above) there is more":                                          "",
		"    raise pdf.Broken(name)":                                                                   "",
		"main.run(0x1)":                                                                                "",
		"created by acme.Run(...)":                                                                     "",
		"#0 /a/b.php(9): Acme.read('x')":                                                               "",
		"   at " + strings.Repeat("Acme.", 500) + "X(":                                                 "",
	} {
		got := ""
		if f := dotnetFrame(line); f != nil {
			got = f.String()
		}
		if got != want {
			t.Errorf("%s\n read as %q, want %q", line, got, want)
		}
	}
}

func TestDotnetInnerExceptionIsTheRoot(t *testing.T) {
	framework := "Acme.StageException: parse failed ---> Org.Pdf.PageException: no kids\n" + dotnetKids + "   --- End of inner exception stack trace ---\n   at Acme.Stage.Fail()\n   at Acme.Main.Run()\n"
	core := "Acme.StageException: parse failed\n ---> Org.Pdf.PageException: no kids\n" + dotnetKids + "   --- End of inner exception stack trace ---\n   at Acme.Stage.Fail()\n   at Acme.Main.Run()\n"
	r := ofTrace(framework)
	if r.Type != "StageException" || r.RootType != "PageException" || r.Message != "parse failed" {
		t.Errorf("type %q, root %q, message %q", r.Type, r.RootType, r.Message)
	}
	wantFrames(t, r, "Pages.Kids@Org.Pdf", "Document.Open@Org.Pdf", "Job.Run@Acme")
	if !strings.Contains(r.Canonical, "wrap=Stage.Fail@Acme\n") {
		t.Errorf("canonical %q", r.Canonical)
	}
	wantSame(t, framework, core)
	german := changed(t, framework, "   at ", "   bei ", "--- End of inner exception stack trace ---", "--- Ende der internen Ausnahmestapelüberwachung ---")
	wantSame(t, framework, german)
	trimmed := strings.ReplaceAll(framework, "   at", "at")
	wantSame(t, framework, strings.ReplaceAll(trimmed, "   ---", "---"))
}

func TestDotnetThrownAgainIsNoEndOfAnInnerException(t *testing.T) {
	again := "--- End of stack trace from previous location where exception was thrown ---\n   at System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw()\n"
	for _, separator := range []string{again, changed(t, again, "End of stack trace from previous location where exception was thrown", "Ende der Stapelüberwachung vom vorhergehenden Ort, an dem die Ausnahme ausgelöst wurde")} {
		inner := "   at Org.Pdf.Pages.Kids(PdfName name)\n" + separator + "   at Org.Pdf.Document.Open(Stream stream)\n   --- End of inner exception stack trace ---\n   at Acme.Stage.Fail()\n"
		e := parseDotnet(strings.Split("A.B.StageException: x ---> A.B.PageException: y\n"+inner, "\n")).outer
		if e == nil || e.cause == nil || len(e.frames) != 1 || len(e.cause.frames) < 2 {
			t.Errorf("read as %+v", e)
		}
	}
}

func TestDotnetTransparentWrappersAreReplacedByWhatTheyHold(t *testing.T) {
	bare := "System.IO.InvalidDataException: no kids\n" + dotnetKids
	for _, wrapped := range []string{
		"System.AggregateException: One or more errors occurred. ---> System.IO.InvalidDataException: no kids\n" + dotnetKids + "   --- End of inner exception stack trace ---\n   at System.Threading.Tasks.Task.Wait()\n" +
			"---> (Inner Exception #0) System.IO.InvalidDataException: no kids\n" + strings.TrimSuffix(dotnetKids, "\n") + "<---\n",
		"System.AggregateException: One or more errors occurred. (no kids)\n ---> System.IO.InvalidDataException: no kids\n" + dotnetKids + "   --- End of inner exception stack trace ---\n   at Acme.Main.Run()\n",
		"System.Reflection.TargetInvocationException: Exception has been thrown by the target of an invocation.\n ---> System.IO.InvalidDataException: no kids\n" + dotnetKids + "   --- End of inner exception stack trace ---\n   at System.RuntimeMethodHandle.InvokeMethod(Object target)\n",
		"System.TypeInitializationException: The type initializer for 'Acme.Fonts' threw an exception. ---> System.IO.InvalidDataException: no kids\n" + dotnetKids + "   --- End of inner exception stack trace ---\n   at Acme.Fonts.Load()\n",
	} {
		wantSame(t, bare, wrapped)
	}
}

func TestDotnetAggregateOfSeveralIsItsMembers(t *testing.T) {
	member := func(n, typ, class string) string {
		return " ---> (Inner Exception #" + n + ") " + typ + ": x " + n + "\n   at Org.Pdf." + class + ".Read(Stream s)<---\n\n"
	}
	head := "System.AggregateException: One or more errors occurred. (x 0) (x 1)\n ---> Org.Pdf.PageException: x 0\n   at Org.Pdf.Pages.Read(Stream s)\n   --- End of inner exception stack trace ---\n   at System.Threading.Tasks.Task.WaitAll(Task[] tasks)\n   at Acme.Job.All()\n"
	a := head + member("0", "Org.Pdf.PageException", "Pages") + member("1", "Org.Pdf.FontException", "Fonts")
	b := head + member("0", "Org.Pdf.FontException", "Fonts") + member("1", "Org.Pdf.PageException", "Pages")
	wantSame(t, a, b)
	wantApart(t, a, head+member("0", "Org.Pdf.PageException", "Pages")+member("1", "Org.Pdf.ImageException", "Images"))
	wantSame(t, "Org.Pdf.PageException: x\n   at Org.Pdf.Pages.Read(Stream s)\n", head+member("0", "Org.Pdf.PageException", "Pages")+member("1", "Org.Pdf.PageException", "Pages"))
}

func TestDotnetHeaderIsFoundInAndUnderLogLines(t *testing.T) {
	bare := "Org.Pdf.PageException: no kids\n" + dotnetKids
	for _, above := range []string{
		"Unhandled exception. ", "Unhandled Exception: ", "2026-02-11 09:42:13.123 +00:00 [ERR] Parsing of a document failed\n", "2026-02-11 09:42:13.1230|ERROR|Acme.Job|Parsing failed ",
		"[18-07-04 03:44:44.422]Error:", "fail: Acme.Job[0]\n      Parsing failed\n", "2026-02-11 09:42:13,123 [12] ERROR Acme.Job [(null)] - failed\n",
	} {
		wantSame(t, bare, above+bare)
	}
	wantSame(t, bare, "Org.Pdf.PageException: no\nkids\n\nat all\n"+dotnetKids)
	wantSame(t, bare, bare+"2026-02-11 [ERR] next\n"+dotnetTrace)
}

func TestDotnetFieldsThatAProgramPrintedAreRead(t *testing.T) {
	r := ofTrace("Exception Type: Org.Pdf.PageException\nMessage: no kids\nSource: Org.Pdf\nStackTrace: " + dotnetKids)
	if r.Type != "PageException" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "Pages.Kids@Org.Pdf", "Document.Open@Org.Pdf", "Job.Run@Acme")
	if r := ofTrace("Message: no kids\nSource: Org.Pdf\nStackTrace: " + dotnetKids); r.Message != "no kids" || r.Type != "" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
	wantSame(t, "Org.Pdf.PageException: no kids\n"+dotnetKids, "Job.Parses [FAIL]\n      Org.Pdf.PageException : no kids\n      Stack Trace:\n"+dotnetKids)
}

func TestDotnetErrorPageAndDebuggerFormsAreRead(t *testing.T) {
	page := "[PageException: no kids]\n   Org.Pdf.Pages.Kids(PdfName name) +85\n   Org.Pdf.Document.Open(Stream stream) +120\n   Acme.Job.Run() +9\n\n[StageException: parse failed]\n   Acme.Stage.Fail() +33\n"
	r := ofTrace(page)
	if r.Type != "StageException" || r.RootType != "PageException" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
	wantFrames(t, r, "Pages.Kids@Org.Pdf", "Document.Open@Org.Pdf", "Job.Run@Acme")

	copied := "Org.Pdf.PageException\n  HResult=0x80131500\n  Message=no kids\n  Source=Org.Pdf\n  StackTrace:\n" + dotnetKids + "\n  This exception was originally thrown at this call stack:\n    [External Code]\n    Acme.Job.Run() in Job.cs\n"
	wantSame(t, "Org.Pdf.PageException: no kids\n"+dotnetKids, copied)
	if r := ofTrace(copied); r.Message != "no kids" {
		t.Errorf("message %q", r.Message)
	}
}

func TestDotnetErrorCodesAndTypeArgumentsAreNotTheType(t *testing.T) {
	for header, want := range map[string]string{
		"System.Net.Sockets.SocketException (111): Connection refused":                         "SocketException",
		"System.Runtime.InteropServices.COMException (0x800A03EC): Exception from HRESULT":     "COMException",
		"System.ServiceModel.FaultException`1[System.ServiceModel.ExceptionDetail]: no access": "FaultException",
		"Org.Pdf.Pages+KidsException: x":                                                       "KidsException",
		"System.ArgumentException:“列超出范围”":                                                     "ArgumentException",
	} {
		if r := ofTrace(header + "\n" + dotnetKids); r.Type != want {
			t.Errorf("%s: type %q", header, r.Type)
		}
	}
}

func TestDotnetMessagesAreKeptOutOfTheKey(t *testing.T) {
	wantSame(t, "System.NotSupportedException: unsupported\n"+dotnetKids, "System.NotSupportedException: nicht unterstützt\n"+dotnetKids)
	wantApart(t, "System.Exception: no kids\n"+dotnetKids, "System.Exception: no fonts\n"+dotnetKids)
	// Without a type the message is all there is.
	wantApart(t, "no kids\n"+dotnetKids, "no fonts\n"+dotnetKids)
	wantSame(t, "no kids at 7\n"+dotnetKids, "no kids at 19\n"+dotnetKids)
}

func TestDotnetMissingAssemblyIsNamedInEveryLanguage(t *testing.T) {
	english := "System.IO.FileNotFoundException: Could not load file or assembly 'Org.Fonts, Version=4.1.0.0, Culture=neutral' or one of its dependencies.\n" + dotnetKids
	german := "System.IO.FileNotFoundException: Die Datei oder Assembly \"Org.Fonts, Version=4.2.0.0, Culture=neutral\" oder eine Abhängigkeit davon wurde nicht gefunden.\n" + dotnetKids
	wantSame(t, english, german)
	wantApart(t, english, changed(t, english, "Org.Fonts", "Org.Images"))
	wantSame(t, "System.IO.FileNotFoundException: Could not find file 'C:\\in\\a.pdf'.\n"+dotnetKids, "System.IO.FileNotFoundException: Could not find file 'D:\\x\\b.pdf'.\n"+dotnetKids)
}

func TestDotnetMachineryAtTheTopIsSkipped(t *testing.T) {
	bare := "Org.Pdf.PageException: no kids\n" + dotnetKids
	for _, top := range []string{
		"   at System.ThrowHelper.ThrowArgumentException(ExceptionResource resource)\n",
		"   at System.ArgumentNullException.ThrowIfNull(Object argument, String paramName)\n",
		"   at System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw()\n   at System.Runtime.CompilerServices.TaskAwaiter.HandleNonSuccessAndDebuggerNotification(Task task)\n",
	} {
		wantSame(t, bare, changed(t, bare, "no kids\n", "no kids\n"+top))
	}
}

func TestDotnetStackOverflowIsItsCycle(t *testing.T) {
	block := "   at Org.Pdf.Pages.Walk(PdfName)\n   at Org.Pdf.Kids.Each(Action)\n"
	dash := "--------------------------------\n"
	a := "Stack overflow.\nRepeat 5120 times:\n" + dash + block + dash + "   at Acme.Job.Run()\n"
	r := ofTrace(a)
	if !strings.Contains(r.Canonical, "cycle=Kids.Each@Org.Pdf\ncycle=Pages.Walk@Org.Pdf\n") || r.Confidence != ConfidenceLow {
		t.Errorf("canonical %q", r.Canonical)
	}
	wantSame(t, a, "Stack overflow.\n"+strings.Repeat(block, 200)+"   at Acme.Job.Run()\n")
	wantSame(t, "System.InsufficientExecutionStackException: x\n"+strings.Repeat(block, 9), "System.InsufficientExecutionStackException: x\n   at Org.Pdf.Kids.Each(Action)\n"+strings.Repeat(block, 12))
}

func TestDotnetTraceInsideJSONIsRead(t *testing.T) {
	wantSame(t, dotnetTrace, `{"@m":"failed","@l":"Error","@x":`+quoteJSON(dotnetTrace)+`}`)
	head, frames, _ := strings.Cut(dotnetTrace, "\n")
	typ, message, _ := strings.Cut(head, ": ")
	wantSame(t, dotnetTrace, `{"ClassName":`+quoteJSON(typ)+`,"Message":`+quoteJSON(message)+`,"InnerException":null,"StackTraceString":`+quoteJSON(frames)+`}`)
	wantSame(t, dotnetTrace, `{"@l":"Error","exception":`+quoteJSON(dotnetTrace)+`}`)
	wantSame(t, dotnetTrace, strings.ReplaceAll(dotnetTrace, "\n", "\r\n"))
}

func quoteJSON(s string) string {
	return `"` + strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`, "\t", `\t`).Replace(s) + `"`
}

func TestDotnetCauseThatWasNeverThrownStandsWhereItWasHandedOver(t *testing.T) {
	r := ofTrace("Acme.StageException: x\n ---> Org.Pdf.PageException: y\n   --- End of inner exception stack trace ---\n" + dotnetKids)
	if r.RootType != "PageException" {
		t.Errorf("root %q", r.RootType)
	}
	wantFrames(t, r, "Pages.Kids@Org.Pdf", "Document.Open@Org.Pdf", "Job.Run@Acme")
}

func TestDotnetChainDeeperThanIsKeptStillEndsRight(t *testing.T) {
	var b strings.Builder
	for range 500 {
		b.WriteString("A.B.LayerException: x ---> ")
	}
	b.WriteString("A.B.RootException: y\n   at A.B.Root.Fail()\n")
	for range 500 {
		b.WriteString("   --- End of inner exception stack trace ---\n   at A.B.Layer.Call()\n")
	}
	b.WriteString("   at A.B.Top.Main()\n")
	r := ofTrace(strings.ReplaceAll(b.String(), "---> A.B.L", "\n ---> A.B.L"))
	if r.Type != "LayerException" || len(r.Frames) == 0 {
		t.Errorf("type %q, %d frames", r.Type, len(r.Frames))
	}
}
