package handlers

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/docs"

	"gopkg.in/yaml.v3"
)

// apiContract is the description of the API, to which every answer of every
// test here is held.
type apiContract struct {
	schemas    apiSchemas
	operations []apiOperationText
}

// apiOperationText is one call as the description has it.
type apiOperationText struct {
	method, path string
	matches      *regexp.Regexp
	text         map[string]any
}

var apiMethods = []string{"get", "put", "post", "delete", "patch", "head", "options"}

func apiContractOf(t *testing.T) *apiContract {
	t.Helper()
	var root map[string]any
	if err := yaml.Unmarshal(docs.OpenAPI, &root); err != nil {
		t.Fatalf("the description is no YAML: %v", err)
	}
	c := &apiContract{schemas: apiSchemas{root}}
	for path, item := range root["paths"].(map[string]any) {
		pattern := regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`)
		for method, text := range item.(map[string]any) {
			if slices.Contains(apiMethods, method) {
				c.operations = append(c.operations, apiOperationText{strings.ToUpper(method), path, regexp.MustCompile("^" + pattern + "$"), text.(map[string]any)})
			}
		}
	}
	return c
}

// find gives the call that a request is for; one whose path is written out
// goes before one with a parameter.
func (c *apiContract) find(method, path string) (apiOperationText, bool) {
	best, found := apiOperationText{}, false
	for _, o := range c.operations {
		if o.method == method && o.matches.MatchString(path) && (!found || strings.Count(o.path, "{") < strings.Count(best.path, "{")) {
			best, found = o, true
		}
	}
	return best, found
}

// hold fails the test where an answer is not as the description says, or where
// the server took a request that the description does not allow.
func (c *apiContract) hold(t *testing.T, req *http.Request, sent []byte, a apiAnswer) {
	t.Helper()
	if a.header.Get("Set-Cookie") != "" {
		t.Errorf("%s: the API set a cookie", a.call)
	}
	method := req.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	o, found := c.find(method, req.URL.EscapedPath())
	if !found {
		if a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed && a.status != http.StatusMisdirectedRequest {
			t.Errorf("%s was answered %d and is not in the description", a.call, a.status)
		}
		return
	}
	response, ok := o.text["responses"].(map[string]any)[strconv.Itoa(a.status)].(map[string]any)
	if !ok {
		t.Errorf("%s was answered %d, which the description does not list: %s", a.call, a.status, apiHead(a.body))
		return
	}
	response = c.schemas.resolve(response)
	if headers, ok := response["headers"].(map[string]any); ok {
		for name := range headers {
			if a.header.Get(name) == "" {
				t.Errorf("%s: the answer %d has no header %s", a.call, a.status, name)
			}
		}
	}
	if req.Method != http.MethodHead {
		media, schema := c.media(response["content"], a.header.Get("Content-Type"))
		if schema == nil {
			t.Errorf("%s: the answer %d is of type %q, which the description does not list", a.call, a.status, a.header.Get("Content-Type"))
			return
		}
		c.holdBody(t, a.call+": the answer", media, schema, a.body, true)
	}
	if a.status < 300 {
		c.holdRequest(t, o, req, sent, a.call)
	}
}

func (c *apiContract) media(content any, contentType string) (string, map[string]any) {
	media, _, _ := mime.ParseMediaType(contentType) // an empty one is in no description
	list, _ := content.(map[string]any)
	for _, name := range []string{media, "*/*"} {
		if entry, ok := list[name].(map[string]any); ok {
			return media, entry["schema"].(map[string]any)
		}
	}
	return media, nil
}

func (c *apiContract) holdBody(t *testing.T, what, media string, schema map[string]any, body []byte, strict bool) {
	t.Helper()
	var values [][]byte
	switch {
	case media == typeNDJSON:
		for line := range bytes.Lines(body) {
			if len(bytes.TrimSpace(line)) > 0 {
				values = append(values, line)
			}
		}
	case strings.HasSuffix(media, "json"):
		values = [][]byte{body}
	}
	for _, b := range values {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if _, err := d.Token(); err != io.EOF {
			t.Errorf("%s: more than one value", what)
		}
		for _, fault := range c.schemas.check(schema, v, "", strict) {
			t.Errorf("%s is not as described: %s", what, fault)
		}
	}
}

// holdRequest holds a request that was taken to the description, so that what
// works is also what is described. Of a batch only whole acceptance says so.
func (c *apiContract) holdRequest(t *testing.T, o apiOperationText, req *http.Request, sent []byte, call string) {
	t.Helper()
	parameters, _ := o.text["parameters"].([]any)
	for name := range req.URL.Query() {
		known := slices.ContainsFunc(parameters, func(p any) bool {
			text := c.schemas.resolve(p.(map[string]any))
			if text["name"] == name && text["in"] == "query" {
				return true
			}
			patterns, _ := text["schema"].(map[string]any)["patternProperties"].(map[string]any)
			for pattern := range patterns {
				if regexp.MustCompile(pattern).MatchString(name) {
					return true
				}
			}
			return false
		})
		if !known {
			t.Errorf("%s: the server took the parameter %s, which the description does not list", call, name)
		}
	}
	body, ok := o.text["requestBody"].(map[string]any)
	if !ok {
		if len(sent) > 0 {
			t.Errorf("%s: the server took a body, and the description lists none", call)
		}
		return
	}
	if len(sent) == 0 {
		if required, _ := body["required"].(bool); required && o.method != http.MethodPut {
			t.Errorf("%s: the server took a request without the body that the description requires", call)
		}
		return
	}
	media, schema := c.media(body["content"], req.Header.Get("Content-Type"))
	switch {
	case schema == nil && body["content"].(map[string]any)["*/*"] == nil:
		t.Errorf("%s: the server took a body of type %q, which the description does not list", call, media)
	case media == typeJSON:
		c.holdBody(t, call+": the request", media, schema, sent, true)
	}
}

// apiShape is a path with its parameters' names taken out.
func apiShape(path string) string {
	return regexp.MustCompile(`:[^/]+|\{[^}]*\}`).ReplaceAllString(path, "{}")
}

func TestEveryRouteIsDescribedAndEveryDescriptionIsARoute(t *testing.T) {
	described := map[string]bool{}
	for _, o := range apiContractOf(t).operations {
		described[o.method+" "+apiShape(o.path)] = true
	}
	routes := map[string]bool{}
	for _, r := range (&Handlers{}).apiRoutes() {
		key := r.method + " " + apiShape(r.path)
		routes[key] = true
		if !described[key] {
			t.Errorf("%s %s is served and not described", r.method, r.path)
		}
	}
	for key := range described {
		if !routes[key] {
			t.Errorf("%s is described and not served", key)
		}
	}
}

func TestTheDescriptionNamesTheScopesThatTheRoutesAsk(t *testing.T) {
	contract := apiContractOf(t)
	for _, r := range (&Handlers{}).apiRoutes() {
		o, found := contract.find(r.method, strings.NewReplacer(":id", "x", ":sha256", "x", ":name", "x").Replace(r.path))
		if !found {
			t.Errorf("%s %s is not described", r.method, r.path)
			continue
		}
		if got, want := apiScopes(o), scopesThatMay(r); !slices.Equal(got, want) {
			t.Errorf("%s %s: the description says x-scope %v, the route takes %v", r.method, r.path, got, want)
		}
		ways, said := o.text["security"].([]any)
		if want := map[door]int{open: 0, signed: 2}[r.door]; said != (r.door != token) || len(ways) != want {
			t.Errorf("%s %s: the description says %v of what is needed", r.method, r.path, o.text["security"])
		}
	}
}

func apiScopes(o apiOperationText) []dlq.Scope {
	list, _ := o.text["x-scope"].([]any)
	scopes := []dlq.Scope{}
	for _, s := range list {
		scopes = append(scopes, dlq.Scope(s.(string)))
	}
	slices.Sort(scopes)
	return scopes
}

func scopesThatMay(r route) []dlq.Scope {
	scopes := []dlq.Scope{}
	for _, s := range dlq.Scopes {
		if r.door != open && (dlq.Actor{Kind: dlq.ActorToken, Scopes: []dlq.Scope{s}}).May(r.may) {
			scopes = append(scopes, s)
		}
	}
	slices.Sort(scopes)
	return scopes
}

func TestTheDescriptionRefersToNothingThatIsMissing(t *testing.T) {
	contract := apiContractOf(t)
	ids := map[string]bool{}
	for _, o := range contract.operations {
		id, _ := o.text["operationId"].(string)
		if id == "" || ids[id] {
			t.Errorf("%s %s: the operationId %q is missing or taken", o.method, o.path, id)
		}
		ids[id] = true
	}
	var walk func(v any, at string)
	walk = func(v any, at string) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				func() {
					defer func() {
						if recover() != nil {
							t.Errorf("%s: %s leads nowhere", at, ref)
						}
					}()
					contract.schemas.resolve(v)
				}()
			}
			for name, value := range v {
				if value == nil {
					t.Errorf("%s/%s has no value: a comma in an unquoted text?", at, name)
				}
				walk(value, at+"/"+name)
			}
		case []any:
			for i, value := range v {
				walk(value, at+"/"+strconv.Itoa(i))
			}
		}
	}
	walk(contract.schemas.root, "")
}

func TestTheServerHandsOutItsDescription(t *testing.T) {
	a := newAPI(t)
	answer := a.do(apiCall{method: http.MethodGet, path: "/api/v1/openapi.yaml"}).want(http.StatusOK)
	if !bytes.Equal(answer.body, docs.OpenAPI) {
		t.Error("the description that is served is not the one in docs")
	}
	if bytes.Contains(answer.body, []byte("servers:")) {
		t.Error("the description names a server, which it cannot know")
	}
}
