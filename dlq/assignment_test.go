package dlq

import (
	"strings"
	"testing"
)

func TestATicketIsAnAddressOfTheWebOrAPlainID(t *testing.T) {
	for ticket, good := range map[string]bool{
		"": true, "SEARCH-1182": true, "#4711": true, "owner/repo#12": true, "https://tickets.example.com/1?x=y#z": true, "http://tickets/1": true, "HTTPS://tickets.example.com": true, "ÄÖ 12": true,
		"javascript:alert(1)": false, "JavaScript:alert(1)": false, "data:text/html,x": false, "vbscript:x": false, "mailto:a@example.com": false, "file:///etc/passwd": false,
		"//evil.example.com": false, "https://": false, "https:/x": false, "https://user:secret@example.com/": false, "a\nb": false, "a\x00": false, "\xff": false, "a\u202eb": false,
		strings.Repeat("é", 200): true, strings.Repeat("é", 201): false,
	} {
		if got := AssignmentFaults("", ticket); (len(got) == 0) != good || !good && got[0].Pointer != "/ticket" {
			t.Errorf("%.40q: %v", ticket, got)
		}
	}
	for owner, good := range map[string]bool{"search@example.com": true, "Team: Search": true, "a\tb": false, strings.Repeat("x", 201): false} {
		if got := AssignmentFaults(owner, ""); (len(got) == 0) != good {
			t.Errorf("%.40q: %v", owner, got)
		}
	}
	if got := AssignmentFaults("\x00", "javascript:1"); len(got) != 2 {
		t.Errorf("not every fault is named: %v", got)
	}
}
