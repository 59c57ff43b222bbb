package dlq

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhatTheIndexHoldsSaysWhatCameOfARedrive(t *testing.T) {
	seq := func(n int64) *int64 { return &n }
	digest := strings.Repeat("ab", 32)
	held := IndexQuestion{Redrive: Redrive{Sent: ModeHeld, SourceVersion: `W/"7"`, PayloadSHA256: digest}, IngestSeq: seq(42)}
	plain := IndexQuestion{Redrive: Redrive{Sent: ModeHeld, PayloadSHA256: digest}}
	source := IndexQuestion{Redrive: Redrive{Sent: ModeSource, SourceVersion: `"6"`, Probe: SourceNow{ETag: `"7"`}}}
	nothing := IndexQuestion{Redrive: Redrive{Sent: ModeSource}}
	for _, c := range []struct {
		name string
		q    IndexQuestion
		now  IndexNow
		want OutcomeResult
	}{
		{"not there", held, IndexNow{Status: 404}, ""},
		{"the version that was sent", held, IndexNow{Found: true, Holds: `W/"7"`}, OutcomeCommitted},
		{"without its quotes", held, IndexNow{Found: true, Holds: "7"}, OutcomeCommitted},
		{"another version", held, IndexNow{Found: true, Holds: `"8"`}, ""},
		{"two versions at once", held, IndexNow{Found: true, Holds: `"7", "8"`}, ""},
		{"the digest that was sent", held, IndexNow{Found: true, Holds: strings.ToUpper(digest)}, OutcomeCommitted},
		{"the digest in quotes", plain, IndexNow{Found: true, Holds: `"` + digest + `"`}, OutcomeCommitted},
		{"another digest", plain, IndexNow{Found: true, Holds: strings.Repeat("cd", 32)}, ""},
		{"there, and nothing to compare", plain, IndexNow{Found: true, Holds: "7"}, ""},
		{"there, and nothing was sent to compare", nothing, IndexNow{Found: true, Holds: "7"}, ""},
		{"there, and it names nothing", held, IndexNow{Found: true}, ""},
		{"a newer sequence", held, IndexNow{Found: true, Holds: `"8"`, Seq: seq(43)}, OutcomeSuperseded},
		{"a newer sequence under the same version", held, IndexNow{Found: true, Holds: `"7"`, Seq: seq(43)}, OutcomeSuperseded},
		{"an older sequence", held, IndexNow{Found: true, Holds: `"6"`, Seq: seq(41)}, ""},
		{"the same sequence, no version", held, IndexNow{Found: true, Seq: seq(42)}, OutcomeCommitted},
		{"the same sequence, another version", held, IndexNow{Found: true, Holds: `"6"`, Seq: seq(42)}, ""},
		{"a sequence, and none was sent", plain, IndexNow{Found: true, Seq: seq(42)}, ""},
		{"from the source: what it said at the send", source, IndexNow{Found: true, Holds: `"7"`}, OutcomeCommitted},
		{"from the source: what failed before", source, IndexNow{Found: true, Holds: `"6"`}, ""},
	} {
		got := c.q.Read(c.now)
		if got.Outcome != c.want {
			t.Errorf("%s: %q (%s), want %q", c.name, got.Outcome, got.Sentence, c.want)
		}
		if got.Sentence == "" && c.now.Found {
			t.Errorf("%s: nothing is said", c.name)
		}
	}
}

func TestTheIndexIsAskedLessAndLessOften(t *testing.T) {
	var waits []time.Duration
	for _, n := range []int{1, 2, 3, 7, 100} {
		waits = append(waits, IndexBackoff(n))
	}
	if want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 5 * time.Minute, 5 * time.Minute}; !slices.Equal(waits, want) {
		t.Errorf("the waits are %v, want %v", waits, want)
	}
}

func TestHowTheIndexIsAskedIsCheckedWithThePolicy(t *testing.T) {
	for _, c := range []struct {
		outcomes string
		want     []string
	}{
		{`{"mode":"check","check_url":"https://index.example.com/doc/{doc_id}"}`, nil},
		{`{"mode":"check","check_url":"https://index.example.com/?id={doc_id}","check_from":"json:/version","check_seq_from":"header:X-Seq","check_headers":{"Authorization":"secret:INDEX"}}`, nil},
		{`{"mode":"check"}`, []string{"/outcomes/check_url"}},
		{`{"mode":"check","check_url":"https://index.example.com/doc"}`, []string{"/outcomes/check_url"}},
		{`{"check_url":"https://{doc_id}.example.com/"}`, []string{"/outcomes/check_url"}},
		{`{"mode":"check","check_url":"ftp://index/{doc_id}","check_from":"etag","check_seq_from":"json:seq","check_headers":{"Cookie":"a=b","Host":"x"}}`,
			[]string{"/outcomes/check_from", "/outcomes/check_headers/Cookie", "/outcomes/check_headers/Host", "/outcomes/check_seq_from", "/outcomes/check_url"}},
	} {
		_, err := ParsePolicy("wiki", []byte(`{"outcomes":`+c.outcomes+`}`))
		var got []string
		if err != nil {
			for _, f := range err.(*Error).Faults {
				got = append(got, f.Pointer)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s is refused at %q, want %q", c.outcomes, got, c.want)
		}
	}
}
