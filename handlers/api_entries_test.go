package handlers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

func (a *apiServer) list(query url.Values) []obj {
	a.t.Helper()
	return a.get(apiDeadLetters+"?"+query.Encode(), dlq.ScopeRead).want(http.StatusOK).items()
}

func docIDs(rows []obj) []string {
	ids := []string{}
	for _, row := range rows {
		ids = append(ids, row["doc_id"].(string))
	}
	return ids
}

func TestTheListTakesTheQueryLanguage(t *testing.T) {
	a := newAPI(t)
	a.park(wikiLetter("1"))
	a.park(leaseLetter())
	a.park(legalLetter())
	archived := a.park(obj{"source": "wiki", "doc_id": "old", "error_type": "OldError", "first_seen_at": "2025-12-01T00:00:00Z", "last_seen_at": "2026-02-01T00:00:00Z"})
	a.post(apiDeadLetters+"/"+archived.DLQID+"/archive", dlq.ScopeAct, nil).want(http.StatusOK)
	for q, want := range map[string][]string{
		"":                              {"sha256:" + digestOf("a filing"), "lease-77", "1", "old"},
		"source:wiki":                   {"1", "old"},
		"source:wiki,leases -id:old":    {"lease-77", "1"},
		"status:archived":               {"old"},
		"status:open source:wiki":       {"1", "old"},
		"type:PDFSyntaxError":           {"1"},
		"parser:pdfminer.six@20221105":  {"1"},
		"has:payload":                   {"sha256:" + digestOf("a filing")},
		"age:>60d":                      {"old"},
		"attempts:>=4":                  {"lease-77"},
		"id:01JQ7X0F5C3N4K8Y2M6P9RTVAZ": {"1"},
		"root":                          {"1"},
		`"nothing like it"`:             {},
	} {
		if got := docIDs(a.list(url.Values{"q": {q}})); !slices.Equal(got, want) {
			t.Errorf("%q lists %q, want %q", q, got, want)
		}
	}
}

func TestATermThatIsNotUnderstoodIsNamed(t *testing.T) {
	a := newAPI(t)
	a.park(wikiLetter("1"))
	p := a.get(apiDeadLetters+"?q="+url.QueryEscape("source:wiki colour:red age:soon status:lost"), dlq.ScopeRead).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if len(p.Errors) != 3 {
		t.Fatalf("%d faults, want 3: %v", len(p.Errors), p.Errors)
	}
	for i, term := range []string{"colour:red", "age:soon", "status:lost"} {
		if p.Errors[i].Pointer != "/q" || !strings.Contains(p.Errors[i].Detail, term) {
			t.Errorf("fault %d does not name %s: %v", i, term, p.Errors[i])
		}
	}
	for query, pointer := range map[string]string{"limit=0": "/limit", "limit=501": "/limit", "limit=ten": "/limit", "cursor=nonsense": "/cursor", "sort=colour": "/sort"} {
		if got := pointersOf(a.get(apiDeadLetters+"?"+query, dlq.ScopeRead).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, []string{pointer}) {
			t.Errorf("%s is refused at %q, want %s", query, got, pointer)
		}
	}
}

// What a person types is never part of a statement.
func TestQueriesAreNeverSQL(t *testing.T) {
	a := newAPI(t)
	a.park(wikiLetter("1"))
	for _, text := range []string{`' or 1=1 --`, `%`, `_`, `\`, `source:"' or '1'='1"`, `id:'`, `"1' union select hash from token --"`, `type:%`, "stage:\x00", `parser:x' or 'a'='a`} {
		for _, parameter := range []string{"q", "sort", "cursor"} {
			answer := a.get(apiDeadLetters+"?"+url.Values{parameter: {text}}.Encode(), dlq.ScopeRead)
			if answer.status != http.StatusOK && answer.status != http.StatusUnprocessableEntity {
				t.Errorf("%s=%q was answered %d", parameter, text, answer.status)
			}
			if answer.status == http.StatusOK && len(answer.items()) != 0 {
				t.Errorf("%s=%q lists what it does not name", parameter, text)
			}
		}
	}
}

func TestPagesTogetherAreTheWholeListInEveryOrder(t *testing.T) {
	a := newAPI(t)
	for i := range 23 {
		a.park(obj{"source": "wiki", "doc_id": fmt.Sprintf("%02d", i), "attempts": 1 + i%3, "last_seen_at": apiStart.Add(-time.Duration(i/4) * time.Hour).Format(time.RFC3339)})
	}
	for _, sort := range []string{"", "last_seen", "oldest", "expires", "attempts"} {
		query := url.Values{"limit": {"5"}}
		if sort != "" {
			query.Set("sort", sort)
		}
		var seen []string
		for page := 0; page < 6; page++ {
			answer := a.get(apiDeadLetters+"?"+query.Encode(), dlq.ScopeRead).want(http.StatusOK)
			seen = append(seen, docIDs(answer.items())...)
			next := answer.object()["next"].(string)
			if next == "" {
				break
			}
			query.Set("cursor", next)
		}
		query.Del("cursor")
		query.Set("limit", "500")
		if whole := docIDs(a.list(query)); !slices.Equal(seen, whole) || len(whole) != 23 {
			t.Errorf("sorted by %q the pages are %q, the whole is %q", sort, seen, whole)
		}
	}
	if rows := a.list(url.Values{"sort": {"attempts"}}); rows[0]["attempts"] != 3.0 || rows[22]["attempts"] != 1.0 {
		t.Errorf("by attempts the list goes from %v to %v", rows[0]["attempts"], rows[22]["attempts"])
	}
	if rows := a.list(url.Values{"sort": {"oldest"}}); rows[0]["opened_at"] != "2026-03-02T05:00:00Z" {
		t.Errorf("the longest stuck opened at %v", rows[0]["opened_at"])
	}
}

func TestAnEntryIsShownWithAllThatIsKnown(t *testing.T) {
	a := newAPI(t)
	letter := wikiLetter("1147829310")
	letter["labels"], letter["team"] = obj{"tenant": "north"}, "search"
	delete(letter, "payload_sha256")
	delete(letter, "payload_bytes")
	letter["payload"] = "%PDF-not"
	receipt := a.park(letter)
	twin := a.park(obj{"source": "wiki", "doc_id": "copy", "payload": "%PDF-not"})
	entry := a.entry(receipt.DLQID)
	for _, key := range strings.Fields("dlq_id source doc_id status marks cohort fingerprint attempts arrivals redrive_count same_failures first_seen opened_at last_seen expires_at hold disposition evidence payload history redrives linked") {
		if _, ok := entry[key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
	evidence := entry["evidence"].(obj)
	for key, want := range map[string]any{"source_version": `W/"5c9f-1b3d2a7"`, "ingest_seq": 88213774.0, "cursor_at_arrival": "2026-02-11T09:41:07Z", "payload_uri": "s3://ingest-quarantine/wiki/1147829310/9f2a4c1e.pdf", "error_type": "PDFSyntaxError", "source_updated_at": "2026-02-11T09:41:07Z"} {
		if evidence[key] != want {
			t.Errorf("%s is %v, want %v", key, evidence[key], want)
		}
	}
	if got := evidence["versions"].(obj); got["parser"] != "pdfminer.six@20221105" || got["connector"] != "wiki-connector@3.14.2" {
		t.Errorf("the versions are %v", got)
	}
	if got := evidence["extra"].(obj)["team"]; got != "search" {
		t.Errorf("an unknown field was kept as %v", got)
	}
	if linked := entry["linked"].([]any); len(linked) != 1 || linked[0].(obj)["dlq_id"] != twin.DLQID {
		t.Errorf("linked is %v", linked)
	}
	if expires := entry["expires_at"]; expires != "2026-05-12T09:42:13Z" { // 90 days after it was first seen
		t.Errorf("it expires at %v", expires)
	}
	a.get(apiDeadLetters+"/01JNOWHERE", dlq.ScopeRead).problem(http.StatusNotFound, dlq.KindNotFound)
	a.get(apiDeadLetters+"/01JQ7X0F5C3N4K8Y2M6P9RTVAZ", dlq.ScopeRead).problem(http.StatusNotFound, dlq.KindNotFound) // the sender's id is not ours
}

func TestActionsMoveAnEntryOrNameTheStateThatForbidsThem(t *testing.T) {
	a := newAPI(t)
	id := a.park(wikiLetter("1")).DLQID
	do := func(action string, body obj) apiAnswer {
		if body == nil {
			return a.post(apiDeadLetters+"/"+id+"/"+action, dlq.ScopeAct, nil)
		}
		return a.post(apiDeadLetters+"/"+id+"/"+action, dlq.ScopeAct, body)
	}
	for _, step := range []struct {
		action string
		body   obj
		state  string // after it
		words  string // of the refusal; empty: it is done
	}{
		{"release", obj{"grant": "one"}, "parked", "parked"},
		{"restore", nil, "parked", ""},
		{"quarantine", obj{"reason": "looks hostile"}, "quarantined", ""},
		{"restore", nil, "quarantined", "quarantine"},
		{"release", obj{"grant": "reset"}, "parked", ""},
		{"archive", nil, "archived", ""},
		{"extend", obj{"days": 5}, "archived", "archive"},
		{"quarantine", nil, "archived", "archive"},
		{"release", obj{"grant": "one"}, "archived", "archive"},
		{"restore", nil, "parked", ""},
	} {
		answer := do(step.action, step.body)
		if step.words == "" {
			if got := answer.want(http.StatusOK).object()["status"]; got != step.state {
				t.Errorf("after %s it is %v, want %s", step.action, got, step.state)
			}
			continue
		}
		if p := answer.problem(http.StatusConflict, dlq.KindConflict); !strings.Contains(p.Detail, step.words) {
			t.Errorf("the refusal of %s does not name the state: %s", step.action, p.Detail)
		}
		if got := a.entry(id)["status"]; got != step.state {
			t.Errorf("after a refused %s it is %v", step.action, got)
		}
	}
	a.post("/api/v1/outcomes", dlq.ScopeOutcome, obj{"source": "wiki", "doc_id": "1", "result": "committed"}).want(http.StatusOK)
	for _, action := range []string{"quarantine", "archive", "restore", "extend", "release"} {
		if p := do(action, obj{"grant": "one", "days": 1}).problem(http.StatusConflict, dlq.KindConflict); !strings.Contains(p.Detail, "resolved") {
			t.Errorf("the refusal of %s does not name the state: %s", action, p.Detail)
		}
	}
	a.post(apiDeadLetters+"/01JNOWHERE/archive", dlq.ScopeAct, nil).problem(http.StatusNotFound, dlq.KindNotFound)
}

func TestWhatAnActionNeedsIsNamed(t *testing.T) {
	a := newAPI(t)
	id := a.park(wikiLetter("1")).DLQID
	quarantined := a.park(wikiLetter("2")).DLQID
	a.post(apiDeadLetters+"/"+quarantined+"/quarantine", dlq.ScopeAct, nil).want(http.StatusOK)
	for _, c := range []struct {
		path    string
		body    obj
		pointer string
	}{
		{quarantined + "/release", obj{}, "/grant"},
		{quarantined + "/release", obj{"grant": "two"}, "/grant"},
		{id + "/extend", obj{}, "/days"},
		{id + "/extend", obj{"days": -1}, "/days"},
		{id + "/extend", obj{"until": "2026-03-01T00:00:00Z"}, "/until"},
		{id + "/extend", obj{"until": "soon"}, "/until"},
		{id + "/archive", obj{"reason": strings.Repeat("x", 2001)}, "/reason"},
		{id + "/archive", obj{"Reason": "x"}, "/Reason"},
		{id + "/archive", obj{"status": "resolved"}, "/status"},
		{id + "/assign", obj{"owner": strings.Repeat("x", 201)}, "/owner"},
		{id + "/notes", obj{"note": "  "}, "/note"},
		{id + "/notes", obj{"note": strings.Repeat("x", 16<<10+1)}, "/note"},
	} {
		p := a.post(apiDeadLetters+"/"+c.path, dlq.ScopeAct, c.body).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
		if got := pointersOf(p); !slices.Equal(got, []string{c.pointer}) {
			t.Errorf("%s %v is refused at %q, want %s", c.path, c.body, got, c.pointer)
		}
	}
}

func TestAnExtensionPastTheLongestTimeNamesTheLastDate(t *testing.T) {
	a := newAPI(t)
	a.putSource("wiki", obj{"retention": obj{"entry_ttl": "30d", "max_ttl": "60d"}})
	id := a.park(obj{"source": "wiki", "doc_id": "1"}).DLQID // opened at apiStart
	extend := func(body obj) apiAnswer { return a.post(apiDeadLetters+"/"+id+"/extend", dlq.ScopeAct, body) }
	if got := extend(obj{"days": 10}).want(http.StatusOK).object()["expires_at"]; got != "2026-04-11T10:00:00Z" {
		t.Errorf("30 and 10 days after the second of March it expires at %v", got)
	}
	p := extend(obj{"days": 21}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if !strings.Contains(p.Detail, "1 May 2026") {
		t.Errorf("the refusal does not name the last date: %s", p.Detail)
	}
	if got := extend(obj{"until": "2026-05-01T10:00:00Z"}).want(http.StatusOK).object()["expires_at"]; got != "2026-05-01T10:00:00Z" {
		t.Errorf("extended to the last date it expires at %v", got)
	}
}

func TestAnEntryHasAnOwnerATicketAndNotes(t *testing.T) {
	a := newAPI(t)
	id := a.park(wikiLetter("1")).DLQID
	got := a.post(apiDeadLetters+"/"+id+"/assign", dlq.ScopeAct, obj{"owner": "reviewer@example.com", "ticket": "OPS-7"}).want(http.StatusOK).object()
	if got["owner"] != "reviewer@example.com" || got["ticket"] != "OPS-7" {
		t.Errorf("assigned is %v, %v", got["owner"], got["ticket"])
	}
	if rows := a.list(url.Values{"q": {"owner:reviewer@example.com has:ticket"}}); len(rows) != 1 {
		t.Errorf("%d documents of the owner are listed", len(rows))
	}
	if got := a.post(apiDeadLetters+"/"+id+"/assign", dlq.ScopeAct, obj{}).want(http.StatusOK).object(); got["owner"] != nil {
		t.Errorf("the owner was not taken away: %v", got["owner"])
	}
	a.post(apiDeadLetters+"/"+id+"/notes", dlq.ScopeAct, obj{"note": "seen *before*"}).want(http.StatusOK)
	e, err := a.store.Entry(t.Context(), dlq.Policy("a test"), id)
	if err != nil {
		t.Fatal(err)
	}
	notes, err := a.store.Notes(t.Context(), e.ID, "", 10)
	if err != nil || len(notes) != 1 || notes[0].Body != "seen *before*" || notes[0].Author != "act@" {
		t.Errorf("the notes are %v, %v", notes, err)
	}
}

func TestAProbeSaysWhatTheSourceSaysAndWhatThatMeans(t *testing.T) {
	a := newAPI(t)
	answers := map[string]func(http.ResponseWriter){
		"1": func(w http.ResponseWriter) { w.Header().Set("ETag", `"v1"`) },
		"2": func(w http.ResponseWriter) { w.Header().Set("ETag", `"v2"`) },
		"3": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"4": func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) },
	}
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers[strings.TrimPrefix(r.URL.Path, "/doc/")](w)
		if r.Method == http.MethodGet {
			fmt.Fprint(w, "document now")
		}
	}))
	defer source.Close()
	a.putSource("wiki", obj{"probe": obj{"url": source.URL + "/doc/{doc_id}"}})
	ids := map[string]string{}
	for doc := range answers {
		ids[doc] = a.park(obj{"source": "wiki", "doc_id": doc, "source_version": `"v1"`, "payload_sha256": digestOf("document then")}).DLQID
	}
	probe := func(doc string, body any) obj {
		return a.post(apiDeadLetters+"/"+ids[doc]+"/probe", dlq.ScopeAct, body).want(http.StatusOK).object()
	}
	if got := probe("1", nil); got["bytes"] != "unknown" || got["said"].(obj)["failure"] != "refused" {
		t.Errorf("an address on this machine was asked: %v", got)
	}
	a.allow(source.URL)
	for doc, want := range map[string][2]string{"1": {"unchanged", "strong_etag"}, "2": {"changed", "strong_etag"}, "3": {"gone", "status"}, "4": {"unknown", "none"}} {
		if got := probe(doc, nil); got["bytes"] != want[0] || got["grade"] != want[1] {
			t.Errorf("document %s reads %v by %v, want %v", doc, got["bytes"], got["grade"], want)
		}
	}
	fetched := probe("1", obj{"fetch": true})
	if fetched["bytes"] != "changed" || fetched["grade"] != "digest" || fetched["said"].(obj)["sha256"] != digestOf("document now") {
		t.Errorf("fetched it reads %v", fetched)
	}
	if document := a.entry(ids["1"])["document"].(obj); document["evidence"].(obj)["grade"] != "digest" {
		t.Errorf("the entry shows %v", document)
	}
	// Credentials of ours went out: who made them go is in the trail.
	rows := slices.DeleteFunc(a.get("/api/v1/audit", dlq.ScopeAdmin).items(), func(row obj) bool { return row["action"] != "source.asked" })
	if len(rows) != 6 {
		t.Fatalf("%d of 6 questions are in the trail", len(rows))
	}
	row, detail := rows[0], rows[0]["detail"].(obj)
	if row["actor"] != "act@" || row["dlq_id"] != ids["1"] || row["source"] != "wiki" || detail["fetch"] != true || detail["reading"] != "changed" || detail["grade"] != "digest" || len(detail) != 3 {
		t.Errorf("the trail tells the question as %v", row)
	}
}
