package fingerprint

import (
	"regexp"
	"strings"
)

// jvm covers every language that prints through Throwable.printStackTrace:
// Java, Kotlin, Scala, Groovy, Clojure.
var jvm = language{
	name:        "jvm",
	hints:       []string{"jvm", "java", "kotlin", "scala", "groovy", "clojure"},
	counts:      func(line string) bool { return jvmFrame(line) != nil },
	frame:       func(lines []string, i int) *frame { return jvmFrame(lines[i]) },
	belongs:     func(line string) bool { return jvmMore.MatchString(line) },
	parse:       parseJVM,
	noise:       jvmNoise,
	library:     jvmLibrary,
	transparent: func(e *exception) bool { return jvmWrappers[lastSegment(e.typ)] },
	generic:     jvmGeneric,
	identifier: set("ClassNotFoundException", "NoClassDefFoundError", "NoSuchMethodError", "NoSuchFieldError", "NoSuchMethodException", "NoSuchFieldException",
		"UninitializedPropertyAccessException"),
	stackOverflow: set("StackOverflowError"),
	clean:         cleanJVM,
}

var jvmGeneric = set("Exception", "RuntimeException", "Throwable", "Error")

var jvmWrappers = set("ExecutionException", "CompletionException", "InvocationTargetException",
	"UndeclaredThrowableException", "UncheckedIOException", "UncheckedExecutionException", "PrivilegedActionException")

var jvmNoisePrefixes = []string{
	"java.lang.reflect.", "jdk.internal.reflect.", "sun.reflect.", "java.util.stream.", "java.util.concurrent.CompletableFuture",
	"kotlin.coroutines.jvm.internal.", "kotlin.jvm.internal.Intrinsics", "kotlin.ExceptionsH", "_COROUTINE.",
	"scala.runtime.Abstract", "scala.runtime.java8.JFunction", "scala.sys.package",
}

var jvmNoiseUnits = set("java.util.concurrent.FutureTask", "java.util.concurrent.ThreadPoolExecutor",
	"com.google.common.base.Preconditions", "org.springframework.util.Assert")

var scalaChecks = set("require", "assert", "assume", "ensuring")

func jvmNoise(f frame) bool {
	return jvmNoiseUnits[f.Unit] || startsWithAny(f.Unit, jvmNoisePrefixes) ||
		strings.Contains(f.Unit, "MethodAccessor") || strings.Contains(f.Unit, "ConstructorAccessor") ||
		f.Unit == "java.util.Objects" && strings.HasPrefix(f.Function, "requireNonNull") ||
		f.Unit == "java.nio.charset.CoderResult" && f.Function == "throwException" ||
		f.Unit == "scala.Predef$" && scalaChecks[f.Function]
}

var jvmLibraryPrefixes = []string{
	"java.", "javax.", "jakarta.", "jdk.", "sun.", "com.sun.", "kotlin.", "kotlinx.", "scala.", "groovy.", "clojure.",
	"org.apache.", "org.springframework.", "org.hibernate.", "org.eclipse.", "org.jboss.", "org.xml.", "org.w3c.",
	"io.netty.", "io.micronaut.", "io.quarkus.", "reactor.", "akka.", "com.fasterxml.", "com.google.common.", "android.",
}

func jvmLibrary(f frame) bool { return startsWithAny(f.Unit, jvmLibraryPrefixes) }

var jvmSAX = regexp.MustCompile(`^.*columnNumber: ?\d+; `)

// cleanJVM takes the place in the document off a SAX error: what is wrong with
// it comes after.
func cleanJVM(typ, message string) string {
	if strings.HasPrefix(typ, "SAX") {
		return jvmSAX.ReplaceAllString(message, "")
	}
	return message
}
