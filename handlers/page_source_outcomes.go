package handlers

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"dlo/dlq"

	"github.com/labstack/echo/v4"
)

const outcomesLead = "After the target took a redrive, this says how we find out what came of it."

// sourceOutcomesPage is GET /sources/{name}/outcomes: the four ways, in a form.
func (h *Handlers) sourceOutcomesPage(c echo.Context) error {
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	return h.showSourceForm(c, http.StatusOK, s, outcomesForm(s, s.Policy.Outcomes, nil), "Outcomes of ", outcomesLead)
}

// sourceOutcomes is POST /sources/{name}/outcomes: how outcomes are learnt. A
// button of the banner sends the way alone; what it does not send stays.
func (h *Handlers) sourceOutcomes(c echo.Context) error {
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	form, err := c.FormParams()
	if err != nil {
		return dlq.Errorf(dlq.KindMalformed, "the form could not be read").Because(err)
	}
	policy := s.Policy
	o, faults := typedOutcomes(policy.Outcomes, form)
	policy.Outcomes = o
	if faults = append(faults, policy.Validate()...); len(faults) > 0 {
		return h.showSourceForm(c, http.StatusUnprocessableEntity, s, outcomesForm(s, o, faults), "Outcomes of ", "Nothing was changed. "+outcomesLead)
	}
	return h.saveSource(c, policy, "Outcomes of "+titleOf(s.Name())+": "+outcomeModeWords[policy.Outcomes.Mode]+".")
}

// typedOutcomes puts what was typed over what stands.
func typedOutcomes(o dlq.OutcomePolicy, form map[string][]string) (dlq.OutcomePolicy, []dlq.Fault) {
	var faults []dlq.Fault
	typed := func(name string, into *string) {
		v, sent := form[name]
		if !sent || len(v) == 0 {
			return
		}
		*into = strings.TrimSpace(v[0])
		if len(*into) > 2000 || !utf8.ValidString(*into) || strings.ContainsFunc(*into, unicode.IsControl) {
			faults = append(faults, dlq.Fault{Pointer: "/outcomes/" + name, Detail: "at most 2,000 characters expected, none of them a control character"})
		}
	}
	mode := string(o.Mode)
	typed("mode", &mode)
	o.Mode = dlq.OutcomeMode(mode)
	typed("check_url", &o.CheckURL)
	typed("check_from", &o.CheckFrom)
	typed("check_seq_from", &o.CheckSeqFrom)
	if o.CheckFrom == "" {
		o.CheckFrom = dlq.DefaultPolicy("").Outcomes.CheckFrom
	}
	timeout := o.Timeout.String()
	typed("timeout", &timeout)
	span, err := dlq.ParseDuration(timeout)
	if err != nil {
		return o, append(faults, dlq.Fault{Pointer: "/outcomes/timeout", Detail: err.Error()})
	}
	o.Timeout = span
	return o, faults
}
