package dlq

import (
	"strings"
	"testing"
)

func TestTheNearestValueIsTheOneThatWasMeant(t *testing.T) {
	known := []string{"", "20261230", "20271230", "PDFSyntaxError", "ambiguous_parse", "transient", "wiki", "e5-large"}
	for value, want := range map[string]string{
		"2026123": "20261230", "20261231": "20261230", "PDFSyntxError": "PDFSyntaxError", "pdfsyntaxerror": "PDFSyntaxError", "transeint": "transient", "ambigous_pars": "ambiguous_parse",
		"wiky": "wiki", "iwki": "wiki", "wk": "", "e5": "", "leases": "", "": "", "wiki": "", strings.Repeat("x", 101): "", "e5-largo": "e5-large", "PDF": "",
	} {
		if got := Nearest(value, known); got != want {
			t.Errorf("%.20s: %q, want %q", value, got, want)
		}
	}
	if got := Nearest("straße", []string{"STRASSE", "Strasse", "STRAßE"}); got != "STRAßE" {
		t.Errorf("capitals count: %q", got)
	}
}

func TestAnUnknownValueIsMendedInItsPlace(t *testing.T) {
	q, bad := ParseQuery(`root -class:"typo x",transient age:>3d`)
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	u := UnknownValue{Term: q.Terms[1], Value: "typo x", Near: "type:x"}
	if u.Text() != `-class:"typo x"` || u.Mended(q) != `root -class:"type:x",transient age:>3d` {
		t.Errorf("%s, %s", u.Text(), u.Mended(q))
	}
	for _, near := range []string{"", `a"b`} {
		if u.Near = near; u.Mended(q) != "" {
			t.Errorf("%q: %s", near, u.Mended(q))
		}
	}
}
