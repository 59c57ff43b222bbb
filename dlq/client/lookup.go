package client

import (
	"context"
	"fmt"
	"net/http"
)

// Document names a document for a look-up, and what would be tried now: the
// more is given, the less is skipped that could pass. Versions are by component
// (connector, parser, chunker, embedder, any other).
type Document struct {
	Source        string
	DocID         string
	SourceVersion string // as the source gives it, W/ and quotes included
	PayloadSHA256 string
	Versions      map[string]string
}

// Advice is what to do about a document that failed before.
type Advice struct {
	Source string `json:"source"`
	DocID  string `json:"doc_id"`
	DLQID  string `json:"dlq_id"`
	Status string `json:"status"` // of the entry, or "absent"
	Advice string `json:"advice"` // "skip" or "try"; "" when absent
	Why    string `json:"why"`
}

// Absent says that the document is not known here.
func (a Advice) Absent() bool { return a.Status == "absent" }

// Skip says that trying again would waste the attempt: neither the document nor
// the code differs from what failed.
func (a Advice) Skip() bool { return a.Advice == "skip" }

// maxLookup is how many documents one call of the server answers for.
const maxLookup = 1000

// Lookup asks what is known of one document. One that is not known is absent,
// and no error.
func (c *Client) Lookup(ctx context.Context, d Document) (Advice, error) {
	items, err := c.LookupBatch(ctx, []Document{d})
	if err != nil {
		return Advice{}, err
	}
	return items[0], nil
}

// LookupBatch asks for many documents, and answers for each, in order. More than
// 1,000 are asked for in several calls.
func (c *Client) LookupBatch(ctx context.Context, docs []Document) ([]Advice, error) {
	out := make([]Advice, 0, len(docs))
	for len(docs) > 0 {
		n := min(len(docs), maxLookup)
		items, err := c.lookup(ctx, docs[:n])
		if err != nil {
			return nil, err
		}
		out, docs = append(out, items...), docs[n:]
	}
	return out, nil
}

func (c *Client) lookup(ctx context.Context, docs []Document) ([]Advice, error) {
	asked := make([]map[string]any, len(docs))
	for i, d := range docs {
		asked[i] = d.fields()
	}
	r, err := jsonRequest(http.MethodPost, "/dead-letters/lookup", asked)
	if err != nil {
		return nil, err
	}
	r.limit = 16 << 20
	var answer struct {
		Items []Advice `json:"items"`
	}
	if _, err := c.call(ctx, r, &answer); err != nil {
		return nil, err
	}
	if len(answer.Items) != len(docs) {
		return nil, fmt.Errorf("client: %d documents were looked up, and %d answered for", len(docs), len(answer.Items))
	}
	return answer.Items, nil
}

func (d Document) fields() map[string]any {
	fields := map[string]any{"source": d.Source, "doc_id": d.DocID}
	if d.SourceVersion != "" {
		fields["source_version"] = d.SourceVersion
	}
	if d.PayloadSHA256 != "" {
		fields["payload_sha256"] = d.PayloadSHA256
	}
	named, others := splitVersions(d.Versions)
	for field, version := range named {
		fields[field] = version
	}
	if len(others) > 0 {
		fields["versions"] = others
	}
	return fields
}

// splitVersions gives the components that have a field of their own by that
// field's name, and the others by component.
func splitVersions(versions map[string]string) (named, others map[string]string) {
	named, others = map[string]string{}, map[string]string{}
	for component, version := range versions {
		switch component {
		case "connector", "parser", "chunker", "embedder":
			named[component+"_version"] = version
		default:
			others[component] = version
		}
	}
	return named, others
}
