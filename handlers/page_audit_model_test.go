package handlers

import (
	"testing"

	"dlo/dlq"
)

func TestTheReasonOfARowIsWhatWasTypedElseItsDetailInWords(t *testing.T) {
	for _, c := range []struct{ reason, detail, want string }{
		{"seen by the owner", `{"days":30}`, "seen by the owner"},
		{"", `{"to_state":"archived","days":30,"from":{"a":[1,2]},"note":"\u00e9"}`, `days: 30, from: {"a":[1,2]}, note: é, to state: archived`},
		{"", `{}`, ""},
		{"", `not json`, "not json"},
		{"", "", ""},
	} {
		if got := auditReason(dlq.AuditRow{Reason: c.reason, Detail: c.detail}).String(); got != c.want {
			t.Errorf("%q and %q read %q, want %q", c.reason, c.detail, got, c.want)
		}
	}
}
