package dlq

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// ProbePolicy says how a source is asked what its document is now. Without a
// URL there is no probe, and the bytes of its documents are unknown unless the
// stored copy is sent.
type ProbePolicy struct {
	// URL is an http or https address with {doc_id} in its path or query,
	// where the document's id is put in, escaped for that place.
	URL string `json:"url,omitempty" yaml:"url,omitempty"`
	// Kind says how the source's tags are read; see KnownKinds.
	Kind string `json:"kind,omitempty" yaml:"kind,omitempty"`
	// ETagFrom is header:NAME, or json:/pointer (RFC 6901) into the body.
	ETagFrom string `json:"etag_from,omitempty" yaml:"etag_from,omitempty"`
	// Fetch is never, or always: then the bytes themselves are compared.
	Fetch string `json:"fetch,omitempty" yaml:"fetch,omitempty"`
	// Headers are sent along. A value secret:NAME stands for a secret that was
	// given at start for the address's host.
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
}

// The values of Fetch. Empty is FetchNever.
const (
	FetchNever  = "never"
	FetchAlways = "always"
)

// DocIDPlace is where an address takes the document's id.
const DocIDPlace = "{doc_id}"

// secretPrefix marks a header value that names a secret.
const secretPrefix = "secret:"

// Configured says whether there is a probe at all.
func (p ProbePolicy) Configured() bool { return p.URL != "" }

// TagHeader gives the header that the tag stands in, if it is one. Nothing
// said is ETag.
func (p ProbePolicy) TagHeader() (name string, ok bool) {
	if p.ETagFrom == "" {
		return "ETag", true
	}
	return strings.CutPrefix(p.ETagFrom, "header:")
}

// TagPointer gives the JSON pointer at which the tag stands in the body, if it
// stands there.
func (p ProbePolicy) TagPointer() (pointer string, ok bool) {
	return strings.CutPrefix(p.ETagFrom, "json:")
}

// SecretName gives the name of the secret that a header's value stands for.
func SecretName(value string) (name string, ok bool) {
	return strings.CutPrefix(value, secretPrefix)
}

// Address puts the document's id into the URL, escaped for its path or its
// query. An id with a segment . or .. is refused: some servers and proxies
// decode before they resolve, and would hand out another address under the
// source's credentials. Errors are KindInvalid.
func (p ProbePolicy) Address(docID string) (*url.URL, error) {
	if fault := p.urlFault(); fault != "" {
		return nil, Invalid("the probe's address cannot be used", Fault{"/probe/url", fault})
	}
	for _, segment := range strings.FieldsFunc(docID, func(r rune) bool { return r == '/' || r == '\\' }) {
		if segment == "." || segment == ".." {
			return nil, Errorf(KindInvalid, "the document's id has a segment . or .., which an address must not have")
		}
	}
	path, query, _ := strings.Cut(p.URL, "?")
	full := strings.ReplaceAll(path, DocIDPlace, url.PathEscape(docID))
	if query != "" {
		full += "?" + strings.ReplaceAll(query, DocIDPlace, url.QueryEscape(docID))
	}
	u, err := url.Parse(full)
	if err != nil {
		return nil, Errorf(KindInvalid, "the document's id does not make an address")
	}
	return u, nil
}

// urlFault says what is wrong with a URL that is given, "" for nothing.
func (p ProbePolicy) urlFault() string {
	if !strings.Contains(p.URL, DocIDPlace) {
		return "an address with {doc_id} in it expected"
	}
	if strings.Contains(p.URL, "#") {
		return "an address without a fragment expected"
	}
	// The sample id shows whether the place lies in path or query: elsewhere
	// the document's author would choose the host.
	u, err := url.Parse(strings.ReplaceAll(p.URL, DocIDPlace, "0"))
	bare, bareErr := url.Parse(strings.ReplaceAll(p.URL, DocIDPlace, "1"))
	switch {
	case err != nil || bareErr != nil:
		return "an http or https address expected"
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "an http or https address expected"
	case u.User != nil:
		return "an address without user information expected; send credentials as a header"
	case u.Host != bare.Host || u.Scheme != bare.Scheme:
		return "{doc_id} may stand in the path or the query only"
	}
	return ""
}

// Validate names every fault, by pointers from the source's policy.
func (p ProbePolicy) Validate() []Fault {
	var faults []Fault
	add := func(pointer, format string, args ...any) {
		faults = append(faults, Fault{"/probe" + pointer, fmt.Sprintf(format, args...)})
	}
	if p.Configured() {
		if fault := p.urlFault(); fault != "" {
			add("/url", "%s", fault)
		}
	}
	if len(p.Kind) > 64 || strings.ContainsFunc(p.Kind, isControl) {
		add("/kind", "at most 64 characters expected, such as %s", strings.Join(KnownKinds()[:6], ", "))
	}
	if fault := p.tagFault(); fault != "" {
		add("/etag_from", "%s", fault)
	}
	if p.Fetch != "" && p.Fetch != FetchNever && p.Fetch != FetchAlways {
		add("/fetch", "never or always expected")
	}
	if len(p.Headers) > 20 {
		add("/headers", "at most 20 headers expected, got %d", len(p.Headers))
	}
	names := make([]string, 0, len(p.Headers))
	for name := range p.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if fault := headerFault(name, p.Headers[name]); fault != "" {
			add("/headers/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), "%s", fault)
		}
	}
	return faults
}

func (p ProbePolicy) tagFault() string {
	const expected = "header:NAME or json:/pointer expected"
	if name, ok := p.TagHeader(); ok {
		if !isToken(name) {
			return expected
		}
		return ""
	}
	pointer, ok := p.TagPointer()
	if !ok || !strings.HasPrefix(pointer, "/") || len(pointer) > 512 {
		return expected
	}
	for i := range len(pointer) {
		if pointer[i] == '~' && (i+1 == len(pointer) || pointer[i+1] != '0' && pointer[i+1] != '1') {
			return "a JSON pointer expected, in which ~ is written ~0 and / is written ~1"
		}
	}
	return ""
}

// The headers that the probe itself decides, and those whose values are
// secrets and must not stand in a policy, which everybody may read.
var (
	ownHeaders = []string{"accept-encoding", "connection", "content-length", "expect", "host", "if-match", "if-modified-since",
		"if-none-match", "if-range", "if-unmodified-since", "keep-alive", "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade"}
	secretHeaders = []string{"authorization", "cookie", "proxy-authorization"}
)

func headerFault(name, value string) string {
	lower := strings.ToLower(name)
	switch secret, isSecret := SecretName(value); {
	case !isToken(name):
		return "this is not the name of a header"
	case slices.Contains(ownHeaders, lower):
		return "the probe sets this header itself"
	case isSecret && (secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r == '@' || r == '=' || r == 0x7f })):
		return "secret:NAME expected"
	case !isSecret && slices.Contains(secretHeaders, lower):
		return "secret:NAME expected, because a policy can be read by everybody who sees the source"
	case len(value) > 4096 || strings.ContainsFunc(value, isControl):
		return "a value of at most 4096 characters without control characters expected"
	}
	return ""
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// isToken says whether s is a token of RFC 9110 §5.6.2, as a header's name is.
func isToken(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return true
}
