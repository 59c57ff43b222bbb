package handlers

import (
	"net/http"

	"dlo/dlq"
	"dlo/dlq/fingerprint"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// explainFingerprint is POST /fingerprints: what a failure would group under,
// and why. It stores nothing.
func (h *Handlers) explainFingerprint(c echo.Context) error {
	var body struct {
		ErrorType        string   `json:"error_type"`
		ErrorMessage     string   `json:"error_message"`
		StackTrace       string   `json:"stack_trace"`
		ExceptionContext string   `json:"exception_context"`
		ValidationOutput any      `json:"validation_output"`
		Source           string   `json:"source"`
		Stage            string   `json:"stage"`
		Reason           string   `json:"reason"`
		Confidence       *float64 `json:"confidence"`
		ParserVersion    string   `json:"parser_version"`
	}
	if err := web.ReadJSON(c, &body); err != nil {
		return err
	}
	if body.StackTrace == "" {
		body.StackTrace = body.ExceptionContext
	}
	in := fingerprint.Input{ErrorType: body.ErrorType, ErrorMessage: body.ErrorMessage, Trace: body.StackTrace, Validation: dlq.Envelope{ValidationOutput: body.ValidationOutput}.ValidationText(),
		Source: body.Source, Stage: body.Stage, Reason: body.Reason, Parser: body.ParserVersion}
	if body.Confidence != nil {
		in.Confidence = *body.Confidence
	}
	r := fingerprint.Of(in)
	frames := []dlq.Frame{}
	for _, f := range r.Frames {
		frames = append(frames, dlq.Frame{Function: f.Function, Unit: f.Unit})
	}
	return web.JSON(c, http.StatusOK, map[string]any{"fingerprint": r.String(), "mode": r.Mode, "confidence": r.Confidence, "language": r.Language, "type": r.Type, "root_type": r.RootType,
		"frames": frames, "message_template": r.Template, "canonical": r.Canonical, "steps": append([]string{}, r.Steps...)})
}

// explainEvidence is POST /evidence: what two validators say of the bytes. It
// stores nothing.
func (h *Handlers) explainEvidence(c echo.Context) error {
	var body struct {
		Kind          string  `json:"kind"`
		Stored        *string `json:"stored"`
		Current       *string `json:"current"`
		StoredSHA256  string  `json:"stored_sha256"`
		CurrentSHA256 string  `json:"current_sha256"`
	}
	if err := web.ReadJSON(c, &body); err != nil {
		return err
	}
	var faults []dlq.Fault
	for _, digest := range [][2]string{{"/stored_sha256", body.StoredSHA256}, {"/current_sha256", body.CurrentSHA256}} {
		if digest[1] != "" && !dlq.IsSHA256(digest[1]) {
			faults = append(faults, dlq.Fault{Pointer: digest[0], Detail: "64 lower-case hex digits expected"})
		}
	}
	if len(faults) > 0 {
		return dlq.Invalid("the question was not understood", faults...)
	}
	if body.StoredSHA256 == "" || body.CurrentSHA256 == "" {
		return web.JSON(c, http.StatusOK, dlq.CompareTags(body.Kind, body.Stored, body.Current))
	}
	stored, current := dlq.Validators{SHA256: body.StoredSHA256}, dlq.Validators{SHA256: body.CurrentSHA256}
	if body.Stored != nil {
		stored.ETag = *body.Stored
	}
	if body.Current != nil {
		current.ETag = *body.Current
	}
	return web.JSON(c, http.StatusOK, dlq.CompareBytes(body.Kind, stored, current))
}
