package fingerprint

import (
	"strings"
	"testing"
)

const pageTree = "\tat org.pdf.Pages.kids(Pages.java:9)\n\tat org.pdf.Doc.open(Doc.java:3)\n\tat com.example.Job.run(Job.java:7)\n"

func TestJVMCauseIsTheRoot(t *testing.T) {
	wrapped := func(cause string) string {
		return "com.example.StageException: parse failed\n\tat com.example.Job.stage(Job.java:40)\n\tat com.example.Job.main(Job.java:2)\nCaused by: " + cause + "\n" + pageTree + "\t... 12 more\n"
	}
	r := ofTrace(wrapped("org.pdf.PageException: no kids"))
	if r.Type != "StageException" || r.RootType != "PageException" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
	wantFrames(t, r, "kids@org.pdf.Pages", "open@org.pdf.Doc", "run@com.example.Job")
	wantApart(t, wrapped("org.pdf.PageException: no kids"), wrapped("org.pdf.FontException: no kids"))
}

func TestJVMTransparentWrappersAreReplacedByWhatTheyHold(t *testing.T) {
	bare := "java.io.IOException: no kids\n" + pageTree
	for _, wrapper := range []string{
		"java.util.concurrent.ExecutionException: java.io.IOException: no kids\n\tat java.base/java.util.concurrent.FutureTask.report(FutureTask.java:122)\n",
		"java.io.UncheckedIOException: java.io.IOException: no kids\n\tat com.example.Job.lambda$run$2(Job.java:46)\n",
		"java.lang.reflect.UndeclaredThrowableException\n\tat com.example.$Proxy7.read(Unknown Source)\nCaused by: java.lang.reflect.InvocationTargetException\n\tat java.base/java.lang.reflect.Method.invoke(Method.java:569)\n",
	} {
		wantSame(t, bare, wrapper+"Caused by: "+bare)
	}
}

func TestJVMSuppressedNeverCounts(t *testing.T) {
	bare := "java.io.IOException: no kids\n" + pageTree
	suppressed := "\tSuppressed: java.io.IOException: cannot close\n\t\tat com.example.Handle.close(Handle.java:1)\n\tCaused by: java.lang.Error: disk\n\t\tat com.example.Disk.sync(Disk.java:1)\n\t\t... 3 more\n"
	wantSame(t, bare, bare+suppressed)
	cause := "Caused by: org.pdf.PageException: inner\n\tat org.pdf.Kids.at(Kids.java:1)\n"
	wantSame(t, bare+cause, bare+suppressed+cause)
}

func TestJVMExceptionPrintedLaterIsNotRead(t *testing.T) {
	first := "org.pdf.PageException: no kids\n\tat org.pdf.Pages.kids(Pages.java:9)\n"
	wantSame(t, first, first+"2026-02-11 INFO next\n"+javaTrace)
}

func TestJVMRootFirstPrintsTheWrapperLast(t *testing.T) {
	causedBy := "com.example.StageException: parse failed\n\tat com.example.Job.stage(Job.java:40)\nCaused by: org.pdf.PageException: no kids\n" + pageTree
	wrappedBy := "org.pdf.PageException: no kids\n" + pageTree + "Wrapped by: com.example.StageException: parse failed\n\tat com.example.Job.stage(Job.java:40)\n"
	wantSame(t, causedBy, wrappedBy)
}

func TestJVMCauseThatOnlyRepeatsIsPassedOver(t *testing.T) {
	bare := "org.pdf.PageException: no kids\n" + pageTree
	wantSame(t, bare, bare+"Caused by: org.pdf.PageException: no kids\n\t... 45 more\n")
}

func TestJVMHeaderIsFoundInAndUnderLogLines(t *testing.T) {
	bare := "org.pdf.PageException: no kids\n" + pageTree
	for _, above := range []string{
		"Exception in thread \"pool-2-thread-1\" ", "2026-02-11 09:42:13 ERROR [w] 1 --- c.e.Worker : job failed\n",
		"ERROR com.example.Core – ", "24/04/29 00:17:14 WARN Tasks: Lost task 0.0 (TID 6): ",
	} {
		wantSame(t, bare, above+bare)
	}
	r := ofTrace("org.pdf.PageException: three\nlines: of\n\nmessage\n" + pageTree)
	if r.Type != "PageException" || r.Message != "three" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
}

func TestJVMFramesAreNormalised(t *testing.T) {
	for line, want := range map[string]string{
		"\tat java.base/java.util.List.get(List.java:9)":                              "get@java.util.List",
		"\tat app//com.a.B.c(B.java:9) ~[b.jar:1.0]":                                  "c@com.a.B",
		"\tat com.a.B$1.c(B.java:9)":                                                  "c@com.a.B",
		"\tat com.a.B$$Lambda$14/0x0000000800c03000.apply(Unknown Source)":            "apply@com.a.B$$Lambda",
		"\tat com.a.B.lambda$run$3(B.java:9)":                                         "lambda$run@com.a.B",
		"\tat com.a.B$$EnhancerBySpringCGLIB$$419cf945.c(<generated>)":                "c@com.a.B",
		"\tat com.a.B$$SpringCGLIB$$0.c(<generated>)":                                 "c@com.a.B",
		"\tat com.a.B_$$_javassist_74.c(B_$$_javassist_74.java)":                      "c@com.a.B",
		"\tat com.a.$Proxy12.c(Unknown Source)":                                       "c@com.a.$Proxy",
		"\tat jdk.internal.reflect.GeneratedMethodAccessor123.invoke(Unknown Source)": "invoke@jdk.internal.reflect.GeneratedMethodAccessor",
		"\tat org.s.R$$anonfun$3.applyOrElse(R.scala:9)":                              "applyOrElse@org.s.R$$anonfun",
		"\tat org.s.R$$anon$1.read(R.scala:9)":                                        "read@org.s.R$$anon",
		"at io.k.Api.raw-8Mi8wO0(Api.kt:4)":                                           "raw@io.k.Api",
		"\tat com.a.B.<init>(B.java)":                                                 "<init>@com.a.B",
		"\tat jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)":   "invoke0@jdk.internal.reflect.NativeMethodAccessorImpl",
		"\tat clojure.core$map$fn__5881.invoke(core.clj:9)":                           "invoke@clojure.core$map$fn",
	} {
		f := jvmFrame(line)
		if f == nil || f.String() != want {
			t.Errorf("%s read as %v, want %s", line, f, want)
		}
	}
	for _, line := range []string{
		"    at read (/a/reader.js:1:2)", "   at Acme.Header.Parse(String name) in C:\\a\\Header.cs:line 12", "   at Acme.Reader.Read()", "look at this (maybe)", "\tat com.a.B.c(B.java:9) and more",
	} {
		if f := jvmFrame(line); f != nil {
			t.Errorf("%s read as %v, want nothing", line, f)
		}
	}
}

func TestJVMMachineryAtTheTopIsSkipped(t *testing.T) {
	top := "\tat java.base/java.util.Objects.requireNonNull(Objects.java:1)\n"
	wantFrames(t, ofTrace("java.lang.NullPointerException\n"+top+pageTree), "kids@org.pdf.Pages", "open@org.pdf.Doc", "run@com.example.Job")
	// Where nothing else is left it stays.
	wantFrames(t, ofTrace("java.lang.NullPointerException\n"+top), "requireNonNull@java.util.Objects")
}

func TestJVMDoubledBridgeFrameCountsOnce(t *testing.T) {
	bridge := "\tat org.pdf.Pages.kids(Pages.java:1)\n"
	wantSame(t, "org.pdf.PageException: x\n"+pageTree, "org.pdf.PageException: x\n"+bridge+bridge+pageTree)
}

func TestJVMSyntheticAccessorIsNoFrame(t *testing.T) {
	wantSame(t, "org.pdf.PageException: x\n"+pageTree, "org.pdf.PageException: x\n"+strings.Replace(pageTree, "\tat org.pdf.Doc", "\tat org.pdf.Pages.access$000(Pages.java:1)\n\tat org.pdf.Doc", 1))
}

func TestJVMCatchAllTypesNeedTheMessage(t *testing.T) {
	a, b := "java.lang.RuntimeException: no kids at 7\n"+pageTree, "java.lang.RuntimeException: no fonts\n"+pageTree
	wantApart(t, a, b)
	wantSame(t, a, strings.Replace(a, "at 7", "at 19", 1))
	wantSame(t, "org.pdf.PageException: no kids\n"+pageTree, "org.pdf.PageException: no fonts\n"+pageTree)
}

func TestJVMMissingClassIsNamedWithoutItsHash(t *testing.T) {
	a := "java.lang.NoClassDefFoundError: org/x/s7558BE7F5D88107BA4D2FD671B33D2B4/Holder\n" + pageTree
	wantSame(t, a, strings.Replace(a, "s7558BE7F5D88107BA4D2FD671B33D2B4", "s036263A03D2D3FD117889707DB51207A", 1))
	wantApart(t, a, strings.Replace(a, "Holder", "Loader", 1))
}

func TestJVMSAXPlaceIsCutOffTheTemplate(t *testing.T) {
	r := ofTrace("org.xml.sax.SAXParseException; systemId: file:/data/in/a.html; lineNumber: 1; columnNumber: 5; Content is not allowed in prolog.\n" + pageTree)
	if r.Type != "SAXParseException" || r.Template != "Content is not allowed in prolog." {
		t.Errorf("type %q, template %q", r.Type, r.Template)
	}
}

func TestJVMStackOverflowIsItsCycle(t *testing.T) {
	cycle := "\tat org.pdf.Pages.walk(Pages.java:1)\n\tat org.pdf.Kids.each(Kids.java:2)\n"
	a := "java.lang.StackOverflowError\n\tat java.base/java.util.HashMap.hash(HashMap.java:1)\n" + strings.Repeat(cycle, 400)
	b := "java.lang.StackOverflowError\n" + strings.Repeat(cycle, 512)
	wantSame(t, a, b)
	wantFrames(t, ofTrace(a), "each@org.pdf.Kids", "walk@org.pdf.Pages")
}

func TestJVMNamesThatScalaAndKotlinCompilersMake(t *testing.T) {
	for line, want := range map[string]string{
		"\tat org.s.R.$anonfun$count$1(R.scala:9)":                                           "$anonfun$count@org.s.R",
		"\tat org.s.R.$anonfun$count$1$adapted(R.scala:9)":                                   "$anonfun$count@org.s.R",
		"\tat org.s.R.$anonfun$run$2$$anonfun$apply$mcV$sp$3(R.scala:9)":                     "$anonfun$run$$anonfun$apply@org.s.R",
		"\tat org.s.R$$anonfun$count$1$$anonfun$apply$mcJ$sp$2.apply(R.scala:9)":             "apply@org.s.R$$anonfun$count$$anonfun$apply",
		"\tat org.s.R$$anonfun$count$1.apply$mcV$sp(R.scala:9)":                              "apply@org.s.R$$anonfun$count",
		"\tat scala.collection.mutable.ResizableArray.foreach$(ResizableArray.scala:5)":      "foreach@scala.collection.mutable.ResizableArray",
		"\tat scala.collection.mutable.ResizableArray$class.foreach(ResizableArray.scala:5)": "foreach@scala.collection.mutable.ResizableArray",
		"\tat org.s.R$.main(R.scala:9)":                                                      "main@org.s.R$",
		"\tat $line14.$read$$iw$$iw.run(<console>:25)":                                       "run@$line.$read$$iw",
		"\tat $line2041.$read$$iw$$iw$$iw.run(<console>:3)":                                  "run@$line.$read$$iw",
		"\tat $iwC$$iwC.<init>(<console>:13)":                                                "<init>@$$iw",
		"\tat org.s.G$GeneratedIteratorForCodegenStage2.processNext(Unknown Source)":         "processNext@org.s.G$GeneratedIteratorForCodegenStage",
		"\tat com.a.Api$load$2.invokeSuspend(Api.kt:9)":                                      "invokeSuspend@com.a.Api$load",
		"\tat com.a.Api.load$suspendImpl(Api.kt:9)":                                          "load@com.a.Api",
		"\tat com.a.Api.load$default(Api.kt:9)":                                              "load@com.a.Api",
		"\tat com.a.Api.load-8Mi8wO0$default(Api.kt:9)":                                      "load@com.a.Api",
		"\tat com.a.Id.constructor-impl(Id.kt:9)":                                            "constructor@com.a.Id",
		"\tat com.a.Api.load$lambda$3(Api.kt:9)":                                             "load$lambda@com.a.Api",
		"\tat com.a.Api.load$lambda-3(Api.kt:9)":                                             "load$lambda@com.a.Api",
		"\tat com.a.Api.load$lambda$3$lambda$2(Api.kt:9)":                                    "load$lambda$lambda@com.a.Api",
		"\tat com.a.Api.access$loadAll(Api.kt:9)":                                            "@com.a.Api",
		"\tat com.a.Api.load$app_debug(Api.kt:9)":                                            "load@com.a.Api",
		"\tat com.a.Api.resume$kotlinx_coroutines_core(Api.kt:9)":                            "resume@com.a.Api",
		"\tat com.a.B.c(D8$$SyntheticClass)":                                                 "c@com.a.B",
		"\tat a.b.c(ShortName:12)":                                                           "c@a.b",
		"\tat command$_run_closure3.doCall(command.groovy:3)":                                "doCall@command$_run_closure",
		"    at com.a.B.<init> (B.java:191)":                                                 "<init>@com.a.B",
		"       at com.a.B.read + 41(B.kt:41)":                                               "read@com.a.B",
		"\tat a.b.c(r8-map-id-4f1a:12)":                                                      "c@a.b",
		"\tat com.a.B.c(B.java:9) ~[b.jar!/:1.0] [4 skipped]":                                "c@com.a.B",
		"\tat com.a.B.$plus$eq(B.scala:9)":                                                   "$plus$eq@com.a.B",
		"\tat java.base@17.0.1/java.util.List.get(List.java:9)":                              "get@java.util.List",
	} {
		f := jvmFrame(line)
		if f == nil || f.String() != want {
			t.Errorf("%s read as %v, want %s", line, f, want)
		}
	}
}

func TestJVMCoroutineThatWaitedIsNoWrapper(t *testing.T) {
	bare := "org.pdf.PageException: no kids\n" + pageTree
	for _, boundary := range []string{"\tat _COROUTINE._BOUNDARY._(CoroutineDebugging.kt:46)\n", "\t(Coroutine boundary)\n", "\tat _COROUTINE._CREATION._(CoroutineDebugging.kt:69)\n\tat _COROUTINE._BOUNDARY._(CoroutineDebugging.kt:46)\n"} {
		recovered := "org.pdf.PageException: no kids\n\tat org.pdf.Pages.kids(Pages.java:9)\n" + boundary + "\tat com.a.Api$load$2.invokeSuspend(Api.kt:9)\nCaused by: " + bare
		wantSame(t, bare, recovered)
	}
}

func TestJVMSparkDriverHoldsTheExceptionOfItsTask(t *testing.T) {
	task := "\tat org.pdf.Pages.kids(Pages.java:9)\n\tat org.pdf.Doc.open(Doc.java:3)\n\tat com.example.Job$.$anonfun$main$1(Job.scala:7)\n"
	head := "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 9.0 failed 4 times, most recent failure: Lost task 1.3 in stage 9.0 (TID 408, worker-3, executor 2): org.pdf.PageException: no kids\n" + task
	driver := "\nDriver stacktrace:\n\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2863)\n"
	r := ofTrace(head + driver)
	if r.Type != "SparkException" || r.RootType != "PageException" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
	wantFrames(t, r, "kids@org.pdf.Pages", "open@org.pdf.Doc", "$anonfun$main@com.example.Job$")
	wantSame(t, head+driver, head+driver+"Caused by: org.pdf.PageException: no kids\n"+task+"\t... 1 more\n")
}

func TestJVMLateinitPropertyIsNamed(t *testing.T) {
	a := "kotlin.UninitializedPropertyAccessException: lateinit property pages has not been initialized\n" + pageTree
	wantApart(t, a, strings.Replace(a, "pages", "fonts", 1))
}

func TestJVMChecksOfTheLanguageAreNoRaisePoint(t *testing.T) {
	bare := "java.lang.IllegalArgumentException: requirement failed\n" + pageTree
	for _, top := range []string{"\tat scala.Predef$.require(Predef.scala:281)\n", "\tat kotlin.jvm.internal.Intrinsics.checkNotNull(Intrinsics.java:3)\n"} {
		wantSame(t, bare, strings.Replace(bare, "failed\n", "failed\n"+top, 1))
	}
}

func TestJVMCircularReferenceEndsTheChain(t *testing.T) {
	bare := "com.example.StageException: a\n\tat com.example.Job.stage(Job.java:40)\nCaused by: org.pdf.PageException: no kids\n" + pageTree
	wantSame(t, bare, bare+"Caused by: [CIRCULAR REFERENCE: com.example.StageException: a]\n")
	wantSame(t, bare, bare+"\t[CIRCULAR REFERENCE:com.example.StageException: a]\n")
}
