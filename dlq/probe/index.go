package probe

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"dlo/dlq"
)

// AskIndex asks where committed documents are found whether it holds one, and in
// which version. It keeps to the rules of a question to a source: the same
// budgets, the same guard, two at a time for a host. Whatever goes wrong is said
// in the answer, and means that nothing is known yet.
func (p *Prober) AskIndex(ctx context.Context, policy dlq.OutcomePolicy, source, docID string) dlq.IndexNow {
	q, none, ok := p.prepare(ctx, policy.IndexProbe(), source, docID, askTimeout)
	if !ok {
		return notKnown(none)
	}
	defer q.done()
	res, err := q.send(http.MethodGet, "")
	if err != nil {
		return notKnown(q.failure(err))
	}
	defer res.Body.Close()
	if now := byStatus(dlq.SourceNow{Status: res.StatusCode}); now.Failure != "" || now.Gone() {
		return notKnown(now)
	}
	now := dlq.IndexNow{Status: res.StatusCode, Found: true}
	body := q.jsonOf(res, policy)
	now.Holds, ok = q.said(policy.IndexProbe(), res.Header, body)
	if !ok || len(now.Holds) > maxTag {
		now.Holds, now.Sentence = "", "The index has the document, and names no version where the policy looks for it."
	}
	if at, asked := policy.IndexSeqProbe(); asked {
		text, _ := q.said(at, res.Header, body)
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
			now.Seq = &n
		}
	}
	return now
}

// jsonOf reads the body where the policy looks into it; nil where it does not,
// or where it is no JSON that can be read.
func (q *question) jsonOf(res *http.Response, policy dlq.OutcomePolicy) any {
	_, version := policy.IndexProbe().TagPointer()
	at, _ := policy.IndexSeqProbe()
	_, seq := at.TagPointer()
	if (!version && !seq) || encoded(res) {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		return nil
	}
	value, err := dlq.DecodeValue(body, dlq.MaxJSONDepth)
	if err != nil {
		return nil
	}
	return value
}

// said is what stands where the policy looks, in a header or in the body.
func (q *question) said(where dlq.ProbePolicy, h http.Header, body any) (string, bool) {
	if pointer, ok := where.TagPointer(); ok {
		return at(body, pointer)
	}
	name, _ := where.TagHeader()
	value := strings.Join(h.Values(name), ", ") // twice is a list, which agrees with nothing: choosing one would be a guess
	return value, value != ""
}

// notKnown is an answer that says nothing of what the index holds. The words are
// those of a question to a source, turned to the index.
func notKnown(now dlq.SourceNow) dlq.IndexNow {
	if now.Gone() {
		return dlq.IndexNow{Status: now.Status, Sentence: "The index answers " + strconv.Itoa(now.Status) + ": the document is not there yet."}
	}
	if now.Failure == dlq.ProbeNotConfigured {
		return dlq.IndexNow{Sentence: "The index cannot be asked: its address, the document's id or a secret of its headers cannot be used."}
	}
	return dlq.IndexNow{Status: now.Status, Sentence: strings.NewReplacer("The source's", "The index's", "The source", "The index", "the source", "the index", "the probe's", "the index's").Replace(now.Sentence)}
}
