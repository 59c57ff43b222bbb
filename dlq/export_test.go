package dlq_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

func exported(change func(*dlq.Entry, *dlq.Attempt)) dlq.ExportedRow {
	seen := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := dlq.Entry{DLQID: "01K7Z3NDEKTSV4RRFFQ69G5FAV", Source: "wiki", DocID: "1", Status: dlq.StatusParked, Reason: dlq.ReasonException, ErrorType: "ValueError", Attempts: 3, FirstSeen: seen, OpenedAt: seen, LastSeen: seen.Add(time.Hour), ExpiresAt: seen.Add(time.Hour), PayloadBytes: -1}
	var a dlq.Attempt
	change(&e, &a)
	return dlq.NewExportedRow(e, a)
}

func TestCSVFormulaIsWrittenAsText(t *testing.T) {
	for _, begin := range []string{"=", "+", "-", "@", "\t", "\r", "\n", "\x00", "＝", "＋", "－", "＠"} {
		row := exported(func(e *dlq.Entry, a *dlq.Attempt) {
			e.DocID, e.ErrorType, e.Filename, e.Owner, a.Detail.Message = begin+"1+1", begin+"cmd|' /C calc'!A0", begin, begin+`","=1`, begin+"HYPERLINK(\"x\")\nline"
			a.Detail.Labels = map[string]string{begin + "x": "y"}
		})
		var out bytes.Buffer
		if err := dlq.ExportTo(&out, dlq.ExportCSV)([]dlq.ExportedRow{row}); err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(records) != 2 || len(records[1]) != len(dlq.ExportColumns) {
			t.Fatalf("%q: %d records, %v", begin, len(records), err)
		}
		for i, cell := range records[1] {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r\n\x00") || strings.HasPrefix(cell, "＝") || strings.HasPrefix(cell, "＋") || strings.HasPrefix(cell, "－") || strings.HasPrefix(cell, "＠") {
				t.Errorf("%q: the %s begins as a formula does: %q", begin, dlq.ExportColumns[i], cell)
			}
		}
	}
	if got := dlq.SafeCell("plain - text=1"); got != "plain - text=1" {
		t.Errorf("got %q", got)
	}
}

func TestAnExportWithoutRowsIsWhole(t *testing.T) {
	for format, want := range map[dlq.ExportFormat]string{dlq.ExportCSV: strings.Join(dlq.ExportColumns, ",") + "\r\n", dlq.ExportNDJSON: ""} {
		var out bytes.Buffer
		if err := dlq.ExportTo(&out, format)(nil); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", format, out.String(), err)
		}
	}
}

func TestAnExportedRowIsAnEnvelope(t *testing.T) {
	sequence := int64(1) << 60
	moved := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	row := exported(func(e *dlq.Entry, a *dlq.Attempt) {
		e.ErrorClass, e.Stage, e.ContentType, e.Filename, e.SenderID = "ambiguous_parse", "parse", "application/pdf", "a.pdf", "theirs"
		e.Versions = dlq.Versions{"parser": "p@1", "connector": "2", "mapper": "3"}
		e.ContentHash, e.PayloadSHA256, e.PayloadBytes = strings.Repeat("a", 64), strings.Repeat("b", 64), 42
		e.Marks, e.Status, e.CohortID, e.Fingerprint = dlq.Marks{dlq.MarkReturned}, dlq.StatusQuarantined, "01KCOHORT", "f1:abc"
		a.Detail = dlq.AttemptDetail{Message: "No <Root>", Trace: "Traceback\n  line", Validation: `[{"rule":"r","passed":false}]`, Labels: map[string]string{"region": "eu"}, Extra: map[string]any{"tenant": "t", "status": "taken", "": "x"}}
		a.SourceVersion, a.SourceURL, a.SourceUpdatedAt, a.Cursor, a.IngestSeq, a.Processing, a.PayloadURI = `W/"1"`, "https://wiki/1", moved, "c", &sequence, "pv", "s3://b/k"
	})
	line, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	e, err := dlq.ParseEnvelope(line, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	for name, pair := range map[string][2]any{
		"source": {e.Source, "wiki"}, "document": {e.DocID, "1"}, "key": {e.ContentHash, row.ContentHash}, "digest": {e.PayloadSHA256, row.PayloadSHA}, "size": {*e.PayloadBytes, int64(42)}, "our id": {e.SenderID, row.DLQID},
		"message": {e.ErrorMessage, "No <Root>"}, "trace": {e.StackTrace, "Traceback\n  line"}, "type": {e.ErrorType, "ValueError"}, "class": {e.ErrorClass, "ambiguous_parse"}, "reason": {e.Reason, "exception"},
		"versions": {e.ComponentVersions(), dlq.Versions{"parser": "p@1", "connector": "2", "mapper": "3"}}, "attempts": {*e.Attempts, 3}, "first seen": {*e.FirstSeenAt, row.FirstSeen}, "last seen": {*e.LastSeenAt, row.LastSeen},
		"labels": {e.Labels, map[string]string{"region": "eu"}}, "sequence": {*e.IngestSeq, sequence}, "version at the source": {e.SourceVersion, `W/"1"`}, "address": {e.SourceURL, "https://wiki/1"}, "moved": {*e.SourceUpdatedAt, moved},
		"processing": {e.ProcessingVersion, "pv"}, "pointer": {e.PayloadURI, "s3://b/k"}, "cursor": {e.CursorAtArrival, "c"}, "what no name takes": {e.Extra["tenant"], "t"}, "the state there": {e.Extra["status"], "quarantined"}, "the sender's id there": {e.Extra["sender_id"], "theirs"},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
	if rules, ok := e.ValidationOutput.([]any); !ok || len(rules) != 1 {
		t.Errorf("validation output became %T", e.ValidationOutput)
	}
}

func TestTwoExportsOfARowAreEqualByteByByte(t *testing.T) {
	extra := map[string]any{}
	for i := range 20 {
		extra["k"+strconv.Itoa(i)] = i
	}
	row := exported(func(_ *dlq.Entry, a *dlq.Attempt) { a.Detail.Extra = extra })
	first, err := json.Marshal(row)
	if err != nil || !strings.Contains(string(first), `"k0":0,"k1":1,"k10":10`) {
		t.Fatalf("%s, %v", first, err)
	}
	for range 20 {
		if again, err := json.Marshal(row); err != nil || !bytes.Equal(first, again) {
			t.Fatalf("%s\n%s, %v", first, again, err)
		}
	}
}
