package handlers

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/dlq/regroup"
)

// parkSheet parks a document whose trace is that of every other one here; what
// it says, and of what type it is, tells two defects apart.
func (s *site) parkSheet(source, doc, message, contentType string) dlq.Receipt {
	s.t.Helper()
	trace := `Traceback (most recent call last):\n  File \"/srv/a.py\", line 1, in run\n    f()\n  File \"/srv/b.py\", line 2, in load\n    g()\n  File \"/srv/c.py\", line 3, in cells\n    raise SheetError()\nsheet.SheetError: ` + message
	return s.park(fmt.Sprintf(`"source":%q,"doc_id":%q,"stack_trace":"%s","error_message":%q,"content_type":%q`, source, doc, trace, message, contentType))
}

func (s *site) twoDefects() (cohort string) {
	s.t.Helper()
	for i := range 3 {
		cohort = s.parkSheet("wiki", fmt.Sprint("wide", i), "row 12 has 300 cells", "text/csv").Cohort
		s.parkSheet("wiki", fmt.Sprint("date", i), "cannot read a date", "application/vnd.ms-excel")
	}
	return cohort
}

func (s *site) moveSplits() {
	s.t.Helper()
	if _, err := regroup.NewRunner(s.store, func(error) {}).RunOnce(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

var groupingField = regexp.MustCompile(`name="grouping" value="(\d+)"`)

// grouping is the state of the grouping that a page was drawn in.
func (p answered) grouping(t *testing.T) string {
	t.Helper()
	m := groupingField.FindStringSubmatch(p.body)
	if m == nil {
		t.Fatalf("the page does not say in which state of the grouping it was drawn:\n%s", p.body)
	}
	return m[1]
}

func TestReviewerSplitsACohortAndMergesItBack(t *testing.T) {
	s := newSite(t)
	cohort := s.twoDefects()
	v := s.signIn(dlq.RoleReviewer)
	page := v.get("/cohorts/" + cohort + "/split?by=template")
	for _, want := range []string{"cannot read a date", "row &lt;int&gt; has &lt;int&gt; cells", "3 documents", "Content type"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page of a split does not say %q", want)
		}
	}
	missing := v.post("/cohorts/"+cohort+"/split", "by", "template", "grouping", page.grouping(t))
	if missing.status != http.StatusUnprocessableEntity || !strings.Contains(missing.body, "At least one value expected") || !strings.Contains(missing.body, "A reason expected") {
		t.Errorf("a split of nothing, for no reason: %d", missing.status)
	}
	if p := v.post("/cohorts/"+cohort+"/split", "by", "template", "value", "cannot read a date", "grouping", page.grouping(t), "reason", "two defects"); p.status != http.StatusSeeOther {
		t.Fatalf("split: %d\n%s", p.status, p.body)
	}
	if body := v.get("/cohorts/" + cohort).body; !strings.Contains(body, "A split is moving its documents") || !strings.Contains(body, "/grouping\"") {
		t.Error("the page does not say that documents are on their way")
	}
	s.moveSplits()
	moved := v.get("/cohorts/" + cohort)
	if strings.Contains(moved.body, "is moving its documents") || !strings.Contains(moved.body, "3 stuck there") || !strings.Contains(moved.body, "Undo this split") {
		t.Error("the page does not say where the documents went")
	}
	part := s.parkSheet("wiki", "date4", "cannot read a date", "x/y").Cohort
	if part == cohort {
		t.Fatal("a new failure did not follow the split")
	}
	if body := v.get("/cohorts/" + part).body; !strings.Contains(body, "This is a part of another cohort: message template: cannot read a date.") {
		t.Error("the part does not say what it is a part of")
	}
	merge := v.get("/cohorts/" + cohort + "/merge")
	if !strings.Contains(merge.body, part) {
		t.Fatal("the page of a merge does not offer the part")
	}
	if p := v.post("/cohorts/"+cohort+"/merge", "cohort", part, "grouping", merge.grouping(t), "reason", "one after all"); p.status != http.StatusSeeOther {
		t.Fatalf("merge: %d\n%s", p.status, p.body)
	}
	if p := v.get("/cohorts/" + part); p.status != http.StatusFound || p.location != "/cohorts/"+cohort {
		t.Errorf("the address of a merged cohort answers %d, to %s", p.status, p.location)
	}
	if body := v.get("/cohorts/" + cohort).body; !strings.Contains(body, "7 stuck") || !strings.Contains(body, "Undo this merge") || strings.Contains(body, "Undo this split") {
		t.Error("the page does not offer to undo the merge first, or does not count all")
	}
	if p := v.post("/cohorts/"+cohort+"/undo", "rule", ""); p.status != http.StatusSeeOther {
		t.Errorf("undo: %d", p.status)
	}
	if body := v.get("/cohorts/" + cohort).body; !strings.Contains(body, "3 stuck") {
		t.Error("the undo brought nothing back")
	}
}

func TestTwoPeopleSplittingAtOnceDoNotBothSucceed(t *testing.T) {
	s := newSite(t)
	cohort := s.twoDefects()
	v := s.signIn(dlq.RoleReviewer)
	seen := v.get("/cohorts/" + cohort + "/split").grouping(t)
	first := v.post("/cohorts/"+cohort+"/split", "by", "template", "value", "cannot read a date", "grouping", seen, "reason", "first")
	second := v.post("/cohorts/"+cohort+"/split", "by", "content_type", "value", "text/csv", "grouping", seen, "reason", "second")
	if first.status != http.StatusSeeOther || second.status != http.StatusConflict || !strings.Contains(second.body, "changed while you looked") {
		t.Errorf("the first was answered %d, the second %d", first.status, second.status)
	}
}

func TestAMergeWithItselfOrWithWhatIsNotThereIsRefusedInPlace(t *testing.T) {
	s := newSite(t)
	cohort := s.twoDefects()
	s.parkSheet("wiki", "other", "SheetError of another kind", "x/y")
	s.park(`"source":"wiki","doc_id":"o","error_type":"SheetError","error_message":"no trace"`)
	v := s.signIn(dlq.RoleReviewer)
	for other, want := range map[string]string{cohort: "Another cohort expected", "01JNOWHERE": "The id or a fingerprint of a cohort expected"} {
		if p := v.post("/cohorts/"+cohort+"/merge", "cohort", other, "reason", "x"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, want) {
			t.Errorf("a merge with %s: %d", other, p.status)
		}
	}
}

func TestWhoSeesOnlyAPartOfACohortDecidesNothingAboutIt(t *testing.T) {
	s := newSite(t)
	cohort := s.twoDefects()
	s.parkSheet("leases", "1", "row 1 has 2 cells", "text/csv")
	v := s.signIn(dlq.RoleReviewer, "wiki")
	body := v.get("/cohorts/" + cohort).body
	if strings.Contains(body, "/split\"") || strings.Contains(body, "/merge\"") {
		t.Error("somebody who sees a part is offered to split or merge the whole")
	}
	for _, path := range []string{"split", "merge"} {
		if p := v.post("/cohorts/"+cohort+"/"+path, "by", "template", "value", "x", "cohort", "y", "reason", "z"); p.status != http.StatusForbidden {
			t.Errorf("%s: %d", path, p.status)
		}
	}
	other := s.park(`"source":"leases","doc_id":"2","error_type":"Secret"`).Cohort
	if p := v.post("/cohorts/"+other+"/undo", "rule", ""); p.status != http.StatusNotFound {
		t.Errorf("undo of a cohort of another source: %d", p.status)
	}
}

func TestAnalystsAreNotOfferedToSplitOrMerge(t *testing.T) {
	s := newSite(t)
	cohort := s.twoDefects()
	v := s.signIn(dlq.RoleAnalyst)
	if body := v.get("/cohorts/" + cohort).body; strings.Contains(body, "/split\"") {
		t.Error("an analyst is offered a split")
	}
	if p := v.get("/cohorts/" + cohort + "/split"); p.status != http.StatusForbidden {
		t.Errorf("an analyst opens the page of a split: %d", p.status)
	}
}

func TestWhatATemplateSaysIsShownAndNeverRun(t *testing.T) {
	s := newSite(t)
	cohort := s.parkSheet("wiki", "a", "<script>alert(1)</script>", "text/csv").Cohort
	s.parkSheet("wiki", "b", "plain", "text/csv")
	body := s.signIn(dlq.RoleReviewer).get("/cohorts/" + cohort + "/split?by=template").body
	if strings.Contains(body, "<script>alert") || !strings.Contains(body, "&lt;script&gt;") {
		t.Error("the template is not shown as text")
	}
}

func TestAPartIsToldFromWhatItWasSplitFrom(t *testing.T) {
	s := newSite(t)
	cohort := s.twoDefects()
	v := s.signIn(dlq.RoleReviewer)
	if p := v.post("/cohorts/"+cohort+"/split", "by", "content_type", "value", "text/csv", "reason", "two"); p.status != http.StatusSeeOther {
		t.Fatal(p.status)
	}
	s.moveSplits()
	if body := v.get("/cohorts").body; strings.Count(body, "part: content type: text/csv") != 1 {
		t.Error("the list does not tell the part from the rest")
	}
}
