package handlers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dlo/dlq"
	"dlo/views/audit"
	"dlo/views/components"
	"dlo/web"
)

// newAuditPage shapes a page of the trail, newest first. Rows that the
// viewer may not know of are left out, and that they are is said.
func newAuditPage(rows []dlq.AuditRow, before int64, by dlq.Actor) audit.Model {
	m := audit.Model{Chain: components.Notice{Tone: components.Info, Title: "Each row's hash covers the row before it.", Text: "dlo audit verify walks the whole chain; dlo audit head prints its newest hash, to be kept elsewhere."}}
	hidden := 0
	for _, r := range rows {
		if !seesAuditRow(by, r) {
			hidden++
			continue
		}
		m.Rows = append(m.Rows, newAuditRow(r))
	}
	if len(rows) == 0 {
		m.Empty = &components.Empty{Title: "Nothing before this", Text: "The trail begins with the first change; nothing is ever taken out of it.", Links: []components.Link{{Text: "The newest rows", Href: "/audit"}}}
		return m
	}
	m.Pager.Summary = fmt.Sprintf("rows %s to %s", grouped(rows[0].Seq), grouped(rows[len(rows)-1].Seq))
	if hidden > 0 {
		m.Pager.Summary += ", " + grouped(hidden) + " of them not of your sources"
	}
	if before > 0 {
		m.Pager.Prev = components.Link{Text: "Newest", Href: "/audit"}
	}
	if last := rows[len(rows)-1].Seq; len(rows) == auditShown && last > 1 {
		m.Pager.Next = components.Link{Text: "Older", Href: fmt.Sprintf("/audit?before=%d", last)}
	}
	return m
}

func newAuditRow(r dlq.AuditRow) audit.Row {
	return audit.Row{Seq: grouped(r.Seq), When: moment(r.At), Who: web.VisibleText(r.ActorName), Kind: string(r.ActorKind), Action: r.Action, Target: auditTarget(r), Reason: auditReason(r), Hash: r.Hash[:min(len(r.Hash), 10)]}
}

// auditTarget is what a row is about, the narrowest first. Rows name ids alone:
// what they lead to may be gone.
func auditTarget(r dlq.AuditRow) components.Link {
	switch {
	case r.DLQID != "":
		return components.Link{Text: "document " + shortID(r.DLQID), Href: entryHref(r.DLQID)}
	case r.CohortID != "":
		return components.Link{Text: "cohort " + shortID(r.CohortID), Href: cohortHref(r.CohortID)}
	case r.OperationID != "":
		return components.Link{Text: "operation " + shortID(r.OperationID), Href: operationHref(r.OperationID)}
	case r.Source != "":
		return components.Link{Text: web.VisibleText(r.Source), Href: sourceHref(r.Source)}
	}
	return components.Link{}
}

// auditReason is what a person typed where they did, else the detail.
func auditReason(r dlq.AuditRow) components.Text {
	switch {
	case r.Reason != "":
		return shownLine(r.Reason, 300)
	case r.Detail == "":
		return nil
	}
	return shownLine(detailWords(r.Detail), 300)
}

// detailWords writes the detail of a row, a JSON object, as name: value in the
// order of the names. What is no object stands as it is kept.
func detailWords(detail string) string {
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(detail), &values); err != nil {
		return detail
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := string(values[name])
		var text string
		if json.Unmarshal(values[name], &text) == nil {
			value = text
		}
		parts = append(parts, strings.ReplaceAll(name, "_", " ")+": "+value)
	}
	return strings.Join(parts, ", ")
}
