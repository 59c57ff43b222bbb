package dlq

import (
	"encoding/json"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAnEmptyPolicyIsTheDefault(t *testing.T) {
	p, err := ParsePolicy("wiki", []byte(`{}`))
	if err != nil || !reflect.DeepEqual(p, DefaultPolicy("wiki")) {
		t.Fatalf("%+v, %v", p, err)
	}
	for claim, c := range map[string]struct{ got, want any }{
		"no target":                 {p.Redrive.URL, ""},
		"kept for 90 days":          {p.Retention.EntryTTL.Std(), 90 * 24 * time.Hour},
		"at most a year":            {p.Retention.MaxTTL.Std(), 365 * 24 * time.Hour},
		"the record for ever":       {p.Retention.RecordTTL, Forever},
		"three replays":             {p.PoisonThreshold, 3},
		"a floor of three quarters": {p.ConfidenceFloor, 0.75},
		"6000 deep":                 {p.Limits.Depth, int64(6000)},
		"outcomes are reported":     {p.Outcomes.Mode, OutcomesReported},
		"canaries wait 15 minutes":  {p.Outcomes.CanaryTimeout.String(), "15m"},
		"an outcome a day":          {p.Outcomes.Timeout.String(), "1d"},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %v, want %v", claim, c.got, c.want)
		}
	}
}

func TestAPolicyReplacesWhatItNamesAndNothingElse(t *testing.T) {
	p, err := ParsePolicy("wiki", []byte(`{"redrive":{"url":"https://pipeline/redrive","rate":5},"retention":{"entry_ttl":"30d12h"},"limits":{"quota_bytes":"512MiB"}}`))
	want := DefaultPolicy("wiki")
	want.Redrive.URL, want.Redrive.Rate, want.Retention.EntryTTL, want.Limits.QuotaBytes = "https://pipeline/redrive", 5, Duration(732*time.Hour), 512<<20
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAPolicyNamesItsFaults(t *testing.T) {
	for body, want := range map[string][]string{
		`{"name":"leases"}`:                                                                        {"/name"},
		`{"redrive":{"url":"ftp://x/y"}}`:                                                          {"/redrive/url"},
		`{"redrive":{"url":"https://user:secret@x/y"}}`:                                            {"/redrive/url"},
		`{"redrive":{"mode":"yes","rate":0,"concurrency":0}}`:                                      {"/redrive/mode", "/redrive/rate", "/redrive/concurrency"},
		`{"redrive":{"secret":"hunter2"}}`:                                                         {"/redrive/secret"},
		`{"redrive":{"retry":{"first":"1h","max":"1s"}}}`:                                          {"/redrive/retry"},
		`{"outcomes":{"mode":"check"}}`:                                                            {"/outcomes/check_url"},
		`{"outcomes":{"mode":"guess","timeout":"0s"}}`:                                             {"/outcomes/mode", "/outcomes/timeout"},
		`{"retention":{"entry_ttl":"59m"}}`:                                                        {"/retention/entry_ttl"},
		`{"retention":{"max_ttl":"89d"}}`:                                                          {"/retention/max_ttl"},
		`{"retention":{"entry_ttl":"forever"}}`:                                                    {"/retention/entry_ttl"},
		`{"poison_threshold":0,"confidence_floor":1.5}`:                                            {"/poison_threshold", "/confidence_floor"},
		`{"runbook":"` + strings.Repeat("x", 16<<10+1) + `"}`:                                      {"/runbook"},
		`{"alerts":{"url":"javascript:alert(1)"},"limits":{"depth":-1}}`:                           {"/limits/depth", "/alerts/url"},
		`{"poison_treshold":3}`:                                                                    {"/poison_treshold"},
		`{"Owner":"x","redrive":{"rate":-5,"mode":"maybe","retry":{"budget":"90x"},"target":"y"}}`: {"/Owner", "/redrive/mode", "/redrive/rate", "/redrive/retry/budget", "/redrive/target"},
		`{"poison_threshold":"three"}`:                                                             {"/poison_threshold"},
	} {
		_, err := ParsePolicy("wiki", []byte(body))
		sort.Strings(want)
		if KindOf(err) != KindInvalid || !reflect.DeepEqual(pointersOf(err), want) {
			t.Errorf("%.80s: %v at %q, want %q", body, err, pointersOf(err), want)
		}
	}
	for _, body := range []string{``, `[]`, `{"name":"wiki","name":"wiki"}`, `{} {}`} {
		if _, err := ParsePolicy("wiki", []byte(body)); KindOf(err) != KindMalformed {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestAWrittenPolicyReadsTheSame(t *testing.T) {
	p := DefaultPolicy("wiki")
	p.Redrive.URL, p.Retention.EntryTTL, p.Limits.Age, p.Limits.QuotaBytes = "https://pipeline/redrive", Duration(36*time.Hour+30*time.Minute), Days(7), 1000
	body, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParsePolicy("wiki", body)
	if err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("%s came back as %+v, %v", body, back, err)
	}
}

func TestNamesOfSources(t *testing.T) {
	for name, ok := range map[string]bool{"wiki": true, "team wiki": true, "ü": true, "a/b": true, strings.Repeat("ü", 128): true, strings.Repeat("ü", 129): false, "": false, "a\nb": false, "\x7f": false, "a\u0085b": false, "a\x00": false} {
		if ValidSourceName(name) != ok {
			t.Errorf("%.20q: %v, want %v", name, !ok, ok)
		}
	}
}

func TestSpansAsPoliciesWriteThem(t *testing.T) {
	for text, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "24h": 24 * time.Hour, "30s": 30 * time.Second, "1d12h30m": 36*time.Hour + 30*time.Minute, "1.5d": 36 * time.Hour, "forever": 0, "250ms": 250 * time.Millisecond} {
		if got, err := ParseDuration(text); err != nil || got.Std() != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "90", "90 d", "-1d", "-1h", "1d-1h", "NaNd", "infd", "40000d", "1w", "1h1d", strings.Repeat("9", 400) + "d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%.20q was read as %v", text, got)
		} else if len(err.Error()) > 120 {
			t.Errorf("%.20q: an error of %d bytes", text, len(err.Error()))
		}
	}
	for d, want := range map[time.Duration]string{90 * 24 * time.Hour: "90d", 36 * time.Hour: "1d12h", time.Hour: "1h", 90 * time.Minute: "1h30m", time.Hour + 30*time.Second: "1h0m30s", 10 * time.Minute: "10m", 30 * time.Second: "30s", 0: "forever"} {
		if got := Duration(d).String(); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, int64(36500*24*time.Hour)).Draw(t, "d"))
		if back, err := ParseDuration(d.String()); err != nil || back != d {
			t.Fatalf("%d is written %s and read as %d, %v", d, d, back, err)
		}
	})
}

func TestSizesAsPoliciesWriteThem(t *testing.T) {
	for text, want := range map[string]Bytes{`"50GiB"`: 50 << 30, `"512MiB"`: 512 << 20, `"2MB"`: 2e6, `"7"`: 7, `7`: 7, `"7B"`: 7, `"1 KiB"`: 1024} {
		var got Bytes
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{`""`, `"GiB"`, `"-1"`, `"1.5GiB"`, `"9999999999TiB"`, `true`} {
		var got Bytes
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s was read as %d", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.Int64Range(0, 1<<62).Draw(t, "b"))
		var back Bytes
		if err := back.UnmarshalText([]byte(b.String())); err != nil || back != b {
			t.Fatalf("%d is written %s and read as %d, %v", int64(b), b, int64(back), err)
		}
	})
}
