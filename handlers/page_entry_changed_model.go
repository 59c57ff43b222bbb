package handlers

import (
	"slices"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/entry"
)

// newChanged compares what was recorded with the failure with what the source
// said last, and the versions that failed with those that run now.
func newChanged(f entryFacts) entry.Changed {
	policy := f.source.Policy.Probe
	c := entry.Changed{CSRF: f.csrf, Asked: "the source was not asked yet", Rows: changedRows(f)}
	if f.asked {
		c.Asked, c.AskedAt = "asked", since(f.now, f.said.AskedAt)
		c.Reading, c.Says, c.Caveats = bytesTag(f.reading), readingSentence(f.reading), f.reading.Caveats
		if f.said.Failure != "" {
			c.Problem = sentence("%s", f.said.Sentence)
		}
	} else {
		c.Reading = components.Tag{Text: readingWords[dlq.ReadingUnknown], Tone: components.Quiet}
		c.Says = "Nothing is known of the document at its source since it failed."
	}
	switch {
	case !policy.Configured():
		c.Asked = ""
		c.Says = "This source cannot be asked, so a change of the document goes unseen unless the stored copy is sent."
		c.NoProbe = components.Link{Text: "Set up a probe", Href: sourceHref(f.source.Name())}
	case f.entry.Status == dlq.StatusErased, !f.by.May(dlq.MayNote): // nobody who only reads sends a question out
	case policy.Fetch == dlq.FetchAlways:
		c.Caveats = append(slices.Clone(c.Caveats), "We compare the bytes themselves; what stays uncovered is a source that writes equal documents differently each time.")
		c.Actions = []components.Action{{Label: "Fetch and hash", Href: entryHref(f.entry.DLQID) + "/probe", Fields: []components.Field{{Name: "fetch", Value: "1"}}, Why: "Reads the document once and compares its digest"}}
	default:
		c.Actions = []components.Action{{Label: "Check now", Href: entryHref(f.entry.DLQID) + "/probe", Why: "Asks the source for its tag and time"},
			{Label: "Fetch and hash", Href: entryHref(f.entry.DLQID) + "/probe", Fields: []components.Field{{Name: "fetch", Value: "1"}}, Why: "Settles it: reads the document once and compares its digest"}}
	}
	return c
}

func readingSentence(e dlq.Evidence) string {
	switch e.Bytes {
	case dlq.ReadingUnchanged:
		switch e.Grade {
		case dlq.GradeDigest:
			return "The bytes at the source are those that failed."
		case dlq.GradeWeakETag:
			return "The source gives the same tag as at the failure. It is a weak one: it promises the same meaning, not the same bytes."
		case dlq.GradeLastModified:
			return "The modification time is the same as at the failure."
		}
		return "The source gives the same tag as at the failure."
	case dlq.ReadingChanged:
		return "The document at the source is another than the one that failed."
	case dlq.ReadingMaybeChanged:
		return "Something moved at the source; whether it was the document is not certain."
	case dlq.ReadingGone:
		return "The source no longer has this document."
	}
	return "Nobody can tell from this whether the document changed."
}

// changedRows is the comparison, piece by piece of the evidence.
func changedRows(f entryFacts) []entry.Evidence {
	kind := f.source.Policy.Probe.Kind
	now := func(s, none string) components.Text {
		switch {
		case !f.asked:
			return components.PlainText("not asked")
		case s == "":
			return components.PlainText(none)
		}
		return shownLine(s, 120)
	}
	then := func(s string) components.Text {
		if s == "" {
			return components.PlainText("not recorded")
		}
		return shownLine(s, 120)
	}
	stored := storedValidators(f.entry, f.failed)
	tag := entry.Evidence{Name: "ETag", Stored: then(stored.ETag), Now: now(f.said.ETag, "none given")}
	digest := entry.Evidence{Name: "SHA-256", Stored: then(shortDigest(stored.SHA256)), Now: now(shortDigest(f.said.SHA256), "not fetched")}
	modified := entry.Evidence{Name: "Modified", Stored: then(plainTime(f.failed.SourceUpdatedAt)), Now: now(f.said.LastModified, "none given")}
	if f.asked {
		tag.Tag, tag.Note = evidenceTag(dlq.CompareTags(kind, &stored.ETag, &f.said.ETag))
		digest.Tag, digest.Note = evidenceTag(dlq.CompareBytes("any", dlq.Validators{SHA256: stored.SHA256}, dlq.Validators{SHA256: f.said.SHA256}))
		modified.Tag, modified.Note = evidenceTag(dlq.CompareBytes("any", dlq.Validators{LastModified: stored.LastModified}, dlq.Validators{LastModified: f.said.LastModified}))
	}
	if f.said.SHA256 == "" {
		digest.Tag = components.Tag{}
		digest.Note = map[bool]string{true: "would settle it", false: "no digest was recorded to compare with"}[stored.SHA256 != ""]
	}
	rows := []entry.Evidence{tag, digest, modified}
	for _, name := range f.entry.Versions.Components() {
		rows = append(rows, componentRow(name, f.entry.Versions[name], f.running[name]))
	}
	return rows
}

// evidenceTag is one piece of evidence in a cell: a tag where it says
// something, else nothing but a note.
func evidenceTag(e dlq.Evidence) (components.Tag, string) {
	if e.Bytes == dlq.ReadingUnknown {
		return components.Tag{}, "says nothing"
	}
	return bytesTag(e), ""
}

func componentRow(name, failed string, running []string) entry.Evidence {
	r := entry.Evidence{Name: capital(shownLine(name, 40).String()), Stored: shownLine(failed, 100), Now: components.PlainText("not reported")}
	if len(running) == 0 {
		r.Note = "register what runs"
		return r
	}
	r.Now = shownLine(strings.Join(running, ", "), 100)
	switch {
	case !slices.Contains(running, failed):
		r.Tag = components.Tag{Text: "changed", Tone: components.CodeChanged}
	case len(running) > 1:
		r.Tag = components.Tag{Text: "cannot tell", Tone: components.Quiet, Title: "Several versions run, and the one that failed it is among them"}
	default:
		r.Tag = components.Tag{Text: "same", Tone: components.CodeSame}
	}
	return r
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// shortDigest shows both ends of a digest, which people compare.
func shortDigest(sha256 string) string {
	if len(sha256) < 20 {
		return sha256
	}
	return sha256[:8] + "…" + sha256[len(sha256)-6:]
}

func plainTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 Jan 2006 15:04:05") + " UTC"
}
