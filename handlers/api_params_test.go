package handlers

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"dlo/dlq"
)

func TestAListRefusesAParameterThatItDoesNotTake(t *testing.T) {
	a := newAPI(t)
	for call, want := range map[string]dlq.Fault{
		"/api/v1/dead-letters?statuss=parked":         {Pointer: "/statuss", Detail: "no such parameter; this call takes q, sort, limit, cursor"},
		"/api/v1/dead-letters?limt=5&q=status:open":   {Pointer: "/limt", Detail: "no such parameter; this call takes q, sort, limit, cursor; did you mean limit?"},
		"/api/v1/cohorts?Sort=needs":                  {Pointer: "/Sort", Detail: "no such parameter; this call takes q, source, class, status, sort, limit, cursor; did you mean sort?"},
		"/api/v1/views?q=x":                           {Pointer: "/q", Detail: "no such parameter; this call takes none"},
		"/api/v1/operations?state=running":            {Pointer: "/state", Detail: "no such parameter; this call takes limit, cursor"},
		"/api/v1/operations/x/items?status=settled":   {Pointer: "/status", Detail: "no such parameter; this call takes state, outcome, limit, cursor"},
		"/api/v1/sources?name=wiki":                   {Pointer: "/name", Detail: "no such parameter; this call takes none"},
		"/api/v1/sources/wiki/deployments?x=1":        {Pointer: "/x", Detail: "no such parameter; this call takes limit, cursor"},
		"/api/v1/reports/versions?owners=a":           {Pointer: "/owners", Detail: "no such parameter; this call takes source, owner, content, of, running, from, to; did you mean owner?"},
		"/api/v1/reports/versions.csv?~%2F%00=%00":    {Pointer: "/~0~1U+0000", Detail: "no such parameter; this call takes source, owner, content, of, running, from, to"},
		"/api/v1/alerts?state=firing":                 {Pointer: "/state", Detail: "no such parameter; this call takes none"},
		"/api/v1/alerts?" + strings.Repeat("x", 9000): {Pointer: "/" + strings.Repeat("x", 60) + "…", Detail: "no such parameter; this call takes none"},
	} {
		p := a.get(call, dlq.ScopeRead).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
		if len(p.Errors) != 1 || p.Errors[0] != want {
			t.Errorf("%.80s: %.300v, want %.300v", call, p.Errors, want)
		}
	}
	a.get("/api/v1/dead-letters?statuss=x", dlq.ScopeIngest).problem(http.StatusForbidden, dlq.KindForbidden)
	many := "/api/v1/alerts?" + strings.Join([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}, "=1&")
	if p := a.get(many, dlq.ScopeRead).problem(http.StatusUnprocessableEntity, dlq.KindInvalid); len(p.Errors) != 10 {
		t.Errorf("of twelve %d are named", len(p.Errors))
	}
}

// Every call that answers a list has its parameters in the table, as the
// description names them.
func TestListsTakeTheParametersThatTheDescriptionNames(t *testing.T) {
	contract, lists := apiContractOf(t), map[string]bool{}
	for _, r := range (&Handlers{}).apiRoutes() {
		key := r.method + " " + r.path
		o, found := contract.find(r.method, strings.NewReplacer(":id", "x", ":sha256", "x", ":name", "x").Replace(r.path))
		if !found || r.method != http.MethodGet {
			continue
		}
		var described []string
		parameters, _ := o.text["parameters"].([]any)
		for _, p := range parameters {
			if text := contract.schemas.resolve(p.(map[string]any)); text["in"] == "query" {
				described = append(described, text["name"].(string))
			}
		}
		known, list := listParams[key]
		if !list {
			if slices.Contains(described, "limit") {
				t.Errorf("%s lists something and has no parameters in the table", key)
			}
			continue
		}
		lists[key] = true
		slices.Sort(described)
		if sorted := slices.Sorted(slices.Values(known)); !slices.Equal(sorted, described) {
			t.Errorf("%s takes %v, and the description names %v", key, sorted, described)
		}
	}
	for key := range listParams {
		if !lists[key] {
			t.Errorf("%s is no route", key)
		}
	}
}
