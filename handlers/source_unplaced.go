package handlers

import (
	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/source"
)

// unplacedShown is how many reports that belong to nothing a page shows.
const unplacedShown = 50

// newUnplaced shapes the reports that belonged to nothing when they came.
func newUnplaced(list []dlq.UnplacedOutcome, more bool) source.Unplaced {
	u := source.Unplaced{None: "Every outcome that was reported found its document.",
		Lead: "They are kept as they were told and changed nothing. Sent again, a report is looked at anew."}
	if more {
		u.Summary = "the newest " + grouped(unplacedShown)
	}
	for _, o := range list {
		r := source.Report{When: moment(o.ReceivedAt), Result: string(o.Result), Why: sentence("%s", o.Why), By: shownLine(o.Actor, 60)}
		for _, kv := range []struct{ key, value string }{{"Redrive", o.RedriveID}, {"Document", o.DocID}, {"Key", o.ContentHash}} {
			if kv.value != "" {
				r.About = append(r.About, components.KV{Key: kv.key, Value: shownLine(kv.value, 120), Mono: true})
			}
		}
		u.Rows = append(u.Rows, r)
	}
	return u
}
