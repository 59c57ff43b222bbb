package fingerprint

import (
	"regexp"
	"strings"
)

var (
	jvmFrameLine = regexp.MustCompile(`^\s*at ([^\s()]+)\(((?:[^():]+\.(?:java|kts?|scala|groovy|cljc?|jspx?|xtend)|SourceFile|Unknown Source|Native Method|PG|Source|NO_SOURCE_FILE|[\w.$-]+)?(?::-?\d+)?|<\w+>(?::\d+)?)\)(?:\s*~?\[[^\]]*\])*\s*"?$`)
	// As reporters of crashes on phones print it.
	jvmSpaced      = regexp.MustCompile(`^(\s*at [\w$.<>]+)(?: \+ \d+)? ?\(([\w$-]+\.(?:java|kt|scala|groovy)(?::\d+)?)\)$`)
	jvmSource      = regexp.MustCompile(`^(?:[^():]+\.(?:java|kts?|scala|groovy|cljc?|jspx?|xtend)|SourceFile|Unknown Source|Native Method|PG|Source|NO_SOURCE_FILE|[DR]8\$\$SyntheticClass|<\w+>|[\w.$-]+:\d+)`)
	jvmLambdaClass = regexp.MustCompile(`\$\$Lambda.*$`)
	jvmGenerated   = regexp.MustCompile(`(?:\$\$(?:EnhancerBy|FastClassBy|SpringCGLIB|KeyFactoryBy|Enhancer|FastClass)|_\$\$_|\$HibernateProxy\$|\$MockitoMock\$|\$ByteBuddy\$).*$`)
	jvmNumbered    = regexp.MustCompile(`\$\d+`)
	jvmClojureFn   = regexp.MustCompile(`__\d+`)
	jvmDigitsAtEnd = regexp.MustCompile(`((?:Accessor|_closure|\$Proxy|\$\$anonfun|\$\$anon))\d+`)
	jvmMangled     = regexp.MustCompile(`^([\w$]+?)-(?:[A-Za-z0-9_-]{7}|impl)$`)
	jvmAccess      = regexp.MustCompile(`^access\$\w+$`)
	// What Kotlin's and Scala's compilers put behind a name: of default
	// arguments, open suspending functions, value classes and modules; of boxing,
	// specialised types and traits.
	jvmKotlinTail   = regexp.MustCompile(`\$(?:default|suspendImpl|[a-z]\w*_(?:debug|release|main|test|core|common|jvm|android))$`)
	jvmScalaTail    = regexp.MustCompile(`(?:\$adapted|\$mc[A-Z]+\$sp|\$extension\d*|\$)$`)
	jvmScalaSpecial = regexp.MustCompile(`\$mc[A-Z]+\$sp`)
	jvmLambdaNumber = regexp.MustCompile(`(\$lambda)[-$]\d+`)
	jvmShellLine    = regexp.MustCompile(`\$line[0-9a-f]+\.`)
	jvmShellNesting = regexp.MustCompile(`(?:\$\$?iwC?\b)+`)
	jvmCodegen      = regexp.MustCompile(`(CodegenStage|GeneratedClass|SpecificUnsafeProjection|\$\$Lambda)\d+$`)
)

// jvmMade are in the names of classes that were made or numbered by a compiler
// or at run time.
var jvmMade = []string{"$", "Accessor", "_closure", "__"}

// jvmFrame reads one frame line; nil if it is none. A frame without a useful
// name (a synthetic accessor) is returned with an empty Function.
func jvmFrame(line string) *frame {
	if len(line) > maxLine || !strings.Contains(line, "at ") {
		return nil
	}
	if strings.Contains(line, " (") || strings.Contains(line, " + ") {
		line = jvmSpaced.ReplaceAllString(line, "$1($2)")
	}
	m := jvmFrameLine.FindStringSubmatch(line)
	if m == nil || !jvmSource.MatchString(m[2]) {
		return nil
	}
	class, method := m[1], ""
	lambda := strings.Contains(class, "$$Lambda")
	if i := strings.LastIndexByte(class, '.'); i >= 0 {
		class, method = class[:i], class[i+1:]
	}
	if lambda {
		class = jvmLambdaClass.ReplaceAllString(class, "$$$$Lambda")
	}
	// java.base/, app//, java.base@17.0.1/
	class = class[strings.LastIndexByte(class, '/')+1:]
	if !lambda && holdsSign(class, jvmMade) {
		class = jvmGenerated.ReplaceAllString(class, "")
		class = jvmDigitsAtEnd.ReplaceAllString(class, "$1")
		class = jvmNumbered.ReplaceAllString(class, "")
		class = jvmClojureFn.ReplaceAllString(class, "")
	}
	class = jvmGeneratedUnit(class)
	if jvmAccess.MatchString(method) {
		method = ""
	} else {
		method = jvmMethod(method, m[2])
	}
	return &frame{Frame: Frame{Function: clip(method, 200), Unit: clip(class, 300)}, path: m[1]}
}

// jvmGeneratedUnit takes off a class what Scala's compiler and its shell number
// or add: specialised types, the class of a trait's code, one object for each
// line that was entered.
func jvmGeneratedUnit(class string) string {
	if !strings.Contains(class, "$") && !strings.Contains(class, "Codegen") && !strings.Contains(class, "Unsafe") {
		return class
	}
	class = strings.TrimSuffix(jvmScalaSpecial.ReplaceAllString(class, ""), "$class")
	class = jvmShellLine.ReplaceAllString(class, "$$line.")
	class = jvmShellNesting.ReplaceAllString(class, "$$$$iw")
	return jvmCodegen.ReplaceAllString(class, "$1")
}

// jvmMethod takes off a method what compilers add to its name, so that a lambda,
// a bridge or a mangled name is the method that it was made of.
func jvmMethod(method, file string) string {
	if !strings.ContainsAny(method, "$-") {
		return method
	}
	if strings.HasPrefix(method, "lambda$") {
		return jvmNumbered.ReplaceAllString(method, "")
	}
	// Compilers add to what they added before, so each ending is cut repeatedly.
	if strings.Contains(file, ".kt") || strings.Contains(method, "-") {
		for range 3 {
			if m := jvmMangled.FindStringSubmatch(method); m != nil {
				method = m[1]
			}
			method = jvmKotlinTail.ReplaceAllString(method, "")
		}
	}
	method = jvmLambdaNumber.ReplaceAllString(method, "$1")
	for range 3 {
		method = jvmScalaTail.ReplaceAllString(method, "")
	}
	if strings.Contains(method, "$anonfun$") || strings.Contains(method, "$lambda") {
		method = jvmNumbered.ReplaceAllString(method, "")
		method = jvmScalaTail.ReplaceAllString(method, "")
	}
	return method
}
