package pipeline

import (
	"context"
	"net/http"

	"dlo/dlq/client"
)

// judgeTest answers a test redrive with what would come of a document. It goes
// through the transaction that real documents go through, in a database of its
// own that ends with the process: so the answer is that of the pipeline's own
// key and version guard, and nothing is committed.
func (p *Pipeline) judgeTest(w http.ResponseWriter, r *http.Request, redrive client.Redrive) {
	if redrive.Source == "" || redrive.DocID == "" {
		http.Error(w, "a redrive names its source and doc_id", http.StatusUnprocessableEntity)
		return
	}
	g := given{source: redrive.Source, id: redrive.DocID, contentHash: redrive.ContentHash, sourceVersion: redrive.SourceVersion, seq: seqOf(redrive)}
	st := settlementOf(g, p.parser(), processed{record: record{Fields: map[string]string{}}, chunks: 1}, p.now())
	st.redriveID, st.outcome = redrive.RedriveID, &client.Outcome{RedriveID: redrive.RedriveID}
	result, err := p.tests.settle(context.WithoutCancel(r.Context()), st)
	if err != nil {
		p.log.Error("a test redrive could not be judged", "error", err)
		http.Error(w, "the test redrive could not be judged; send it again", http.StatusServiceUnavailable)
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{"redrive_id": redrive.RedriveID, "result": result, "test": true})
}
