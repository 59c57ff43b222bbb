package fingerprint

import (
	"regexp"
	"strings"
)

// php reads what the engine and Throwable::__toString print, the trace as Monolog
// (and so Laravel) and Symfony's console print it, and Xdebug's own stack.
//
// PHP prints the arguments of every call, which here are bytes of documents. They
// may hold anything, line breaks and what looks like frames included; nothing of
// them is read.
var php = language{
	name:        "php",
	hints:       []string{"php", "laravel", "symfony", "wordpress", "drupal"},
	counts:      func(line string) bool { _, ok := phpCallIn(line); return ok },
	frame:       phpFrameAt,
	belongs:     func(line string) bool { return phpListCall.MatchString(clip(line, 4000)) },
	parse:       parsePHP,
	noise:       phpNoise,
	library:     phpLibrary,
	own:         func(f frame) bool { return !phpLibrary(f) },
	transparent: func(e *exception) bool { return phpWrappers[lastSegment(e.typ)] },
	bare:        func(e *exception) bool { return e.typ == "" },
	generic:     set("Exception", "Error", "ErrorException", "RuntimeException", "LogicException", "FatalError", "FatalErrorException"),
	clean:       cleanPHP,
	// There is no limit on recursion but memory; Xdebug has one.
	overflowText: "Maximum function nesting level of",
}

var (
	phpNotFound = regexp.MustCompile(`^(Class|Interface|Trait|Enum) ["']\\?([\p{L}_][\p{L}\p{N}_\\]*)["'] not found`)
	phpCells    = regexp.MustCompile(`^(?:[^!]{1,40}!\$?[A-Z]{1,3}\$?\d{1,7} -> )+`)
)

var phpWrappers = set("HandlerFailedException", "DelayedMessageHandlingException", "ViewException")

func phpLibrary(f frame) bool {
	p := withSlashes(f.path)
	return strings.Contains(p, "/vendor/") || strings.HasPrefix(p, "vendor/") || strings.HasPrefix(p, "[internal") || strings.HasPrefix(p, "phar:") || strings.Contains(p, "/wp-includes/") || strings.Contains(p, "/pear/")
}

var phpNoiseParts = []string{
	`Foundation\Bootstrap\HandleExceptions->`, `ErrorHandler->handleError`, `ErrorHandler::handleError`, `Whoops\Run->handleError`, `yii\base\ErrorHandler->`, `CodeIgniter\Debug\Exceptions->`, `DebugClassLoader`,
	`Webmozart\Assert\Assert::`, `Assert\Assertion::`, `abort`, `throw_if`, `throw_unless`,
}

func phpNoise(f frame) bool {
	for _, p := range phpNoiseParts {
		if f.Function == p || strings.Contains(p, `\`) && strings.Contains(f.Function, p) || strings.HasPrefix(f.Function, p) && strings.HasSuffix(p, "Error") {
			return true
		}
	}
	return false
}

// cleanPHP takes off the cells through which a spreadsheet's formula failed, and
// the quotes of a class that was not found: its namespace would pass for a path.
func cleanPHP(typ, message string) string {
	return phpNotFound.ReplaceAllString(phpCells.ReplaceAllString(message, ""), "$1 $2 not found")
}
