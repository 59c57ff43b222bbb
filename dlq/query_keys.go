package dlq

import "strings"

// QueryKey is a key of the query language: how its values are read, and what the
// screens, the completion and the documentation say of it.
type QueryKey struct {
	Name    string
	Form    QueryForm
	Choices []string // of FormChoice: every value
	Help    string   // what was expected, in the words of a sentence that ends in "expected"
	Example string   // a whole term
	Means   string   // what that term finds
}

// QueryForm says how the values of a key are read.
type QueryForm string

// The forms.
const (
	FormText      QueryForm = "text"
	FormChoice    QueryForm = "choice"
	FormSpan      QueryForm = "span"      // a comparison and a span
	FormCount     QueryForm = "count"     // a number, with a comparison or without
	FormDate      QueryForm = "date"      // months and days, with a comparison, as a range, or alone
	FormVersion   QueryForm = "version"   // a version, current or !current
	FormComponent QueryForm = "component" // a component's name, @, and a version
)

// What stands for what runs now, in place of a version.
const (
	VersionCurrent    = "current"
	VersionNotCurrent = "!current"
)

// QueryKeys are the keys of the query language, in the order in which screens
// offer them.
var QueryKeys = []QueryKey{
	{"source", FormText, nil, "a source's name", "source:wiki,leases", "documents of either source; a comma is or"},
	{"status", FormChoice, []string{"parked", "redriving", "quarantined", "archived", "resolved", "erased", "open"}, "where the document stands", "status:parked", "parked is stuck; open is every state but resolved and erased"},
	{"type", FormText, nil, "an exception's type", "type:PDFSyntaxError", "the type, or the last part of it"},
	{"class", FormText, nil, "a failure class, such as ambiguous_parse", "class:ambiguous_parse", "a failure class"},
	{"reason", FormChoice, []string{"exception", "validation", "low_confidence"}, "why it came here", "-reason:low_confidence", "why it came here; a minus takes out"},
	{"stage", FormText, nil, "a stage of the pipeline", "stage:embed", "a stage of the pipeline"},
	{"content", FormText, nil, "a content type", "content:application/pdf", "a content type"},
	{"connector", FormVersion, nil, "a version of the connector, current or !current", "connector:2.1.0", "the version of the connector under which it failed"},
	{"parser", FormVersion, nil, "a version of the parser, current or !current", "parser:!current", "failed under a version that does not run in its source now; also parser:pdf@2.1 and parser:current"},
	{"chunker", FormVersion, nil, "a version of the chunker, current or !current", "chunker:current", "failed under a version that runs in its source now"},
	{"embedder", FormVersion, nil, "a version of the embedder, current or !current", "embedder:e5-large", "the version of the embedder under which it failed"},
	{"version", FormComponent, nil, "a component, @ and a version, such as mapper@2.5.0 or mapper@!current", "version:mapper@2.5.0", "the version of any other component"},
	{"cohort", FormText, nil, "four characters or more of a cohort's id or fingerprint", "cohort:7f3a19c2", "the first four characters or more of a cohort's id or fingerprint"},
	{"proof", FormChoice, []string{"proven", "presumed", "mixed", "refuted", "lapsed", "looks_transient", "none"}, "what its replays prove", "proof:proven", "a replay of documents like it shows that what runs now gets past its error"},
	{"fix", FormChoice, []string{"deployed", "declared", "none"}, "what is known of a fix", "fix:deployed", "a fix was declared for its cohort and runs in its source, and it did not fail under it"},
	{"disposition", FormChoice, []string{"needs_code", "needs_source", "needs_rule", "waiting", "accepted_loss", "none"}, "what was decided of it", "disposition:none", "nothing was decided of it nor of its cohort"},
	{"outcome", FormChoice, []string{"committed", "skipped", "superseded", "failed", "unattributed", "assumed", "no_outcome", "undelivered", "cancelled", "none"}, "what came of its last redrive", "outcome:failed", "what came of its last redrive; none where there is no outcome yet"},
	{"operation", FormText, nil, "an operation's id, and after a slash nothing or one of " + strings.Join(OperationStands, ", "), "operation:01K7Z3NDEKTSV4RRFFQ69G5FAV", "what an operation holds; operation:01K…/failed for what failed in it"},
	{"owner", FormText, nil, "an owner, me or nobody", "owner:me", "yours; owner:nobody for those without one"},
	{"has", FormChoice, []string{"payload", "owner", "ticket"}, "what it has", "has:payload", "its stored copy is held"},
	{"mark", FormChoice, []string{"returned", "late", "no_outcome", "assumed", "not_exhausted", "presumed"}, "a mark", "mark:returned", "failed again after it was resolved"},
	{"age", FormSpan, nil, "how long it has been stuck, such as >30d", "age:>30d", "stuck for longer than that"},
	{"expires", FormSpan, nil, "when it leaves, such as <7d", "expires:<7d", "leaves within that"},
	{"opened", FormDate, nil, expectedDate, "opened:2026-11", "stuck since that month, or day; also opened:2026-11-29, opened:>=2026-11 and opened:2026-11..2027-01, in UTC"},
	{"seen", FormDate, nil, expectedDate, "seen:>=2026-11-29", "failed last on that day or later"},
	{"attempts", FormCount, nil, "how often it failed, such as >10", "attempts:>10", "how often it failed"},
	{"redrives", FormCount, nil, "how often it was redriven, such as >=2", "redrives:>=2", "how often it was redriven"},
	{"id", FormText, nil, "a document's id, ours or the sender's", "id:1147829310", "a document's id, ours or the sender's; exact"},
	{"sha256", FormText, nil, "8 to 64 lower-case hex digits", "sha256:9f2ac81e", "the first eight digits or more of the bytes' digest"},
	{"file", FormText, nil, "a file name; * stands for anything", "file:lease*.pdf", "a file name; * stands for anything"},
	{"label", FormText, nil, "a label, such as region=eu, or its name", "label:region=eu", "a label; label:region has any value of it, label:region=e* begins so"},
	{"url", FormText, nil, "three characters or more of a document's address at its source", "url:wiki/spaces/HR", "a part of its address at the source"},
}

// FindQueryKey finds a key by its name; nil without one.
func FindQueryKey(name string) *QueryKey {
	for i := range QueryKeys {
		if QueryKeys[i].Name == name {
			return &QueryKeys[i]
		}
	}
	return nil
}

func queryKeyNames() []string {
	var names []string
	for _, k := range QueryKeys {
		names = append(names, k.Name)
	}
	return names
}
