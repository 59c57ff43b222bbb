package fingerprint

import (
	"regexp"
	"strings"
)

// ruby reads what the interpreter prints for an uncaught exception, in the order
// of any version, and what loggers, Rake and test runners print: a line with the
// type and the message, then the backtrace.
var ruby = language{
	name:          "ruby",
	hints:         []string{"ruby", "rb", "rails", "sidekiq", "jruby", "truffleruby"},
	counts:        func(line string) bool { return rubyFrame(line) != nil },
	frame:         func(lines []string, i int) *frame { return rubyFrame(lines[i]) },
	belongs:       func(line string) bool { return rubyElided.MatchString(line) },
	parse:         parseRuby,
	noise:         func(f frame) bool { return rubyRaisers[f.Function] },
	library:       rubyLibrary,
	own:           func(f frame) bool { return !rubyLibrary(f) },
	transparent:   func(e *exception) bool { return rubyWrappers[e.typ] },
	bare:          func(e *exception) bool { return e.typ == "" },
	generic:       set("StandardError", "RuntimeError", "Exception", "ScriptError"),
	identifier:    set("NameError", "NoMethodError", "LoadError", "KeyError"),
	stackOverflow: set("SystemStackError"),
	clean:         cleanRuby,
}

var (
	rubyRaisers  = set("raise", "fail", "Kernel#raise")
	rubyWrappers = set("ActionView::Template::Error", "Sidekiq::JobRetry::Handled", "Sidekiq::JobRetry::Skip")
	rubyReceiver = regexp.MustCompile(` for (?:an instance of |class |module |nil\b|true\b|false\b|main\b|#<|"|'|\[|\{|:|\d|-|[A-Z]).*$`)
	rubyQuoted   = regexp.MustCompile("[`'‘]([^`'‘’]+)['’]")
)

func rubyLibrary(f frame) bool {
	p := withSlashes(f.path)
	return strings.Contains(p, "/gems/") || strings.Contains(p, "/lib/ruby/") || strings.Contains(p, "/usr/lib/") || strings.HasPrefix(p, "<internal:") || strings.HasPrefix(p, "org/jruby/") || rubyGemPath.MatchString(p)
}

// cleanRuby leaves of "undefined method `x' for nil:NilClass" the name alone:
// the receiver is data, and its form changed between versions, as did the quotes.
func cleanRuby(typ, message string) string {
	if typ != "NoMethodError" && typ != "NameError" {
		return message
	}
	message = rubyReceiver.ReplaceAllString(message, "")
	return rubyQuoted.ReplaceAllString(message, "'$1'")
}
