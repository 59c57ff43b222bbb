package dlq

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// The words of the cases, and what each asks for.
var wantedBy = map[string]Reading{
	"same": ReadingUnchanged, "same-weak": ReadingUnchanged, "same-unquoted": ReadingUnchanged,
	"changed": ReadingChanged, "changed?": ReadingMaybeChanged, "unknown": ReadingUnknown,
}

func checkCase(t *testing.T, kind string, stored, current *string, verdict string) {
	t.Helper()
	got := CompareTags(kind, stored, current)
	if got.Bytes != wantedBy[verdict] {
		t.Errorf("%s: read %s (%s) %q, want %s", verdict, got.Bytes, got.Grade, got.Caveats, wantedBy[verdict])
	}
	repaired := slices.Contains(got.Caveats, caveatUnquoted)
	switch verdict {
	case "same":
		if got.Grade != GradeStrongETag || repaired {
			t.Errorf("same: grade %s, repaired %t", got.Grade, repaired)
		}
	case "same-weak":
		if want := GradeWeakETag; kind != "last-modified" && got.Grade != want || kind == "last-modified" && got.Grade != GradeLastModified {
			t.Errorf("same-weak: grade %s", got.Grade)
		}
		if len(got.Caveats) == 0 {
			t.Error("weak evidence without a word why")
		}
	case "same-unquoted":
		if !repaired {
			t.Errorf("the repair of the quoting is not said: %q", got.Caveats)
		}
	case "unknown":
		if got.Grade != GradeNone || len(got.Caveats) == 0 {
			t.Errorf("unknown: grade %s, caveats %q", got.Grade, got.Caveats)
		}
	case "changed?":
		if len(got.Caveats) == 0 {
			t.Error("maybe_changed without a word why")
		}
	}
}

func TestTagsOfRealSourcesReadRight(t *testing.T) {
	f, err := os.Open("../../shared/cases/etags.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the folder of real cases is absent")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct {
			N               int
			Kind, Verdict   string
			Stored, Current *string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Kind == kindDigest {
			continue // an abbreviated digest; whole ones are compared by CompareBytes
		}
		rows++
		t.Run(c.Kind+"/"+strings.TrimSpace(c.Verdict), func(t *testing.T) {
			checkCase(t, c.Kind, c.Stored, c.Current, c.Verdict)
		})
	}
	if rows < 40 {
		t.Errorf("only %d cases were read", rows)
	}
}

func TestTagsReadByPrinciple(t *testing.T) {
	const absentTag = "\x00absent"
	cases := []struct{ kind, stored, current, verdict string }{
		// RFC 9110 §8.8.3.2, the whole table, and what is no tag.
		{"any", `W/"1"`, `W/"1"`, "same-weak"},
		{"any", `"1"`, `"2"`, "changed"},
		{"any", ``, ``, "unknown"},
		{"any", ``, `""`, "unknown"},
		{"any", `""`, absentTag, "unknown"},
		{"any", absentTag, absentTag, "unknown"},
		{"any", `W/""`, `""`, "same-weak"},
		{"any", `"1`, `"1`, "unknown"},
		{"any", `1"`, `"1"`, "unknown"},
		{"any", `*`, `*`, "unknown"},
		{"any", `"a", "b"`, `"a", "b"`, "unknown"},
		{"any", `"a","b"`, `"a"`, "unknown"},
		{"any", `"a,b"`, `"a,b"`, "same"},
		{"any", `"a,b"`, `"a"`, "changed"},
		{"any", `a, b`, `a, b`, "unknown"},
		{"any", `W/"1" x`, `W/"1"`, "unknown"},
		{"any", `W/ "1"`, `W/"1"`, "unknown"},
		{"any", `W/W/"1"`, `W/"1"`, "unknown"},
		{"any", `"a b"`, `"a b"`, "unknown"},
		{"any", "\"a\r\nb\"", "\"a\r\nb\"", "unknown"},
		{"any", `'1'`, `"1"`, "unknown"},
		{"any", `null`, `null`, "unknown"},
		{"any", `W/`, `W/`, "unknown"},
		{"any", "\"caf\xc3\xa9\"", "\"caf\xc3\xa9\"", "same"},
		{"any", "\"a\uFFFD\"", "\"a\uFFFD\"", "unknown"},
		{"never-heard-of", `"1"`, `"1"`, "same"},
		// Damage that is known, repaired and said.
		{"any", `1`, `"1"`, "same-unquoted"},
		{"any", `W/1`, `W/"1"`, "same-unquoted"},
		{"any", `\"1\"`, `"1"`, "same-unquoted"},
		{"any", `"W/\"1\""`, `W/"1"`, "same-unquoted"},
		{"any", `W/&quot;1&quot;`, `W/"1"`, "same-unquoted"},
		{"any", `%221%22`, `"1"`, "same-unquoted"},
		{"any", `"\"\"1\"\""`, `"1"`, "unknown"}, // two layers: one is peeled, once
		// Values that are no entity tags.
		{"any", `version:11`, `md5:9b2cf535f27731c974343645a3985328`, "unknown"},
		{"any", `2026-02-11T09:41:07Z`, `"abc"`, "unknown"},
		{"any", `version:11`, `"11"`, "unknown"},
		// File servers.
		{"nginx", `"65ae1f2c-1a2b"`, `"65ae1f30-1a2b"`, "changed?"},
		{"nginx", `"65ae1f2c-1a2b"`, `"65ae1f2c-1a2b"`, "same"},
		{"nginx", `"0-1a2b"`, `"0-1a2c"`, "changed"},
		{"apache", `"10c24bc-4ab-457e1c1f"`, `"10c24bc-4ac-457e1c1f"`, "changed"},
		{"apache", `"4ab-457e1c1f"`, `"4ab-457e1c2f"`, "changed?"},
		{"apache", `"10c24bc-4ab-457e1c1f"`, `"4ab-457e1c1f"`, "changed?"},
		{"apache", `"4ab-457e1c1f-gzip"`, `"4ac-457e1c1f"`, "changed"},
		{"apache", `"4ab-457e1c1f;gzip"`, `"4ab-457e1c1f"`, "same-weak"},
		{"apache", `"4ab-457e1c1f-gzip"`, `"4ab-457e1c1f-br"`, "same-weak"},
		{"apache", `"4ab-457e1c1f"-gzip`, `"4ab-457e1c1f"`, "same-weak"},
		{"any", `"4ab-457e1c1f"-gzip`, `"4ab-457e1c1f"`, "unknown"},
		{"jetty", `"2341olla--gzip"`, `"2341olla"`, "same-weak"},
		{"jetty", `W/"2341olla--gzip"`, `W/"2341olla"`, "same-weak"},
		{"tomcat", `W/"1024-1416384949000"`, `W/"1024-1416384949999"`, "changed?"},
		{"tomcat", `W/"1024-1416384949000"`, `W/"1025-1416384949000"`, "changed"},
		{"express", `"3368-1416384949000"`, `"3369-1416384949000"`, "changed"},
		{"express", `W/"d-Dh2pm0uPwXBuTWmjMMbmUDNuJ0k"`, `W/"d-Eh2pm0uPwXBuTWmjMMbmUDNuJ0k"`, "changed"},
		{"iis", `"80e1ff3c0cb1:0"`, `"80e1ff3c0cb1:8d3"`, "changed?"},
		{"iis", `"80e1ff3c0cb1:0"`, `"80e1ff3c0cb1:0"`, "same"},
		{"cloudfront", `"a"`, `W/"a"`, "same-weak"},
		// Object stores.
		{"s3", `"ceb8853ddc5086cc4ab9e149f8f09c88-5"`, `"aaa8853ddc5086cc4ab9e149f8f09c88-7"`, "changed?"},
		{"s3", `"ceb8853ddc5086cc4ab9e149f8f09c88-5"`, `"ceb8853ddc5086cc4ab9e149f8f09c88-6"`, "changed?"},
		{"s3", `&quot;9b2cf535f27731c974343645a3985328&quot;`, `"9b2cf535f27731c974343645a3985328"`, "same-unquoted"},
		{"s3", `"d41d8cd98f00b204e9800998ecf8427e"`, `"9b2cf535f27731c974343645a3985328"`, "changed"},
		{"s3+kms", `"9b2cf535f27731c974343645a3985328"`, `"9b2cf535f27731c974343645a3985328"`, "same"},
		{"gcs", `generation:1700000000000001`, `generation:1700000000000002`, "changed"},
		{"gcs", `1700000000000001`, `generation:1700000000000001`, "same"},
		{"gcs", `metageneration:3`, `metageneration:3`, "unknown"},
		{"gcs", `metageneration:3`, `metageneration:4`, "changed?"},
		{"gcs", `generation:1700000000000001`, `metageneration:1`, "unknown"},
		{"gcs", `CJ2Mxt3hm4sDEAE=`, `CJ2Mxt3hm4sDEAE=`, "same"},
		{"gcs", `CJ2Mxt3hm4sDEAE=`, `CJ2Mxt3hm4sDEAI=`, "changed?"},
		{"gcs", `md5:m5sphQ9Tl0m1oEBmXuC5oA==`, `md5:9b9b29850f539749b5a040665ee0b9a0`, "same"},
		{"gcs", `crc32c:yZRlqg==`, `crc32c:yZRlqg==`, "same-weak"},
		{"gcs", `md5:9b2c`, `md5:9b2c`, "unknown"},
		{"azure-blob", `"0x8D68C3BF91FBBF2"`, `"0x8D68C3BF91FBBF3"`, "changed?"},
		// Document services.
		{"graph", `"{F77A5ED4-0000-4722-A791-89FA8C16D688},1"`, `"{F77A5ED4-0000-4722-A791-89FA8C16D688},1"`, "same"},
		{"graph", `"c:{F77A5ED4-0000-4722-A791-89FA8C16D688},1"`, `"{F77A5ED4-0000-4722-A791-89FA8C16D688},1"`, "unknown"},
		{"graph-ctag", `"c:{F77A5ED4-0000-4722-A791-89FA8C16D688},1"`, `"c:{AAAA5ED4-0000-4722-A791-89FA8C16D688},1"`, "changed"},
		{"sharepoint", `"{F77A5ED4-0000-4722-A791-89FA8C16D688},1"`, `"{F77A5ED4-0000-4722-A791-89FA8C16D688},3"`, "changed?"},
		{"drive-v3", `md5:9b2cf535f27731c974343645a3985328`, `md5:9b2cf535f27731c974343645a3985329`, "changed"},
		{"drive-v3", `headRevisionId:0B1a`, `headRevisionId:0B1a`, "same"},
		{"drive-v3", `headRevisionId:0B1a`, absentTag, "unknown"},
		{"drive-v3", `version:1187`, `version:1187`, "same"},
		{"mediawiki", `W/"123456/c4e494da"`, `"123456/c4e494da"`, "same-weak"},
		{"mediawiki", `"99999/c4e494da"`, `"100000/c4e494da"`, "changed"},
		{"mediawiki", `"123456/c4e494da"`, `"123450/c4e494da"`, "unknown"},
		{"confluence", `version:9`, `version:10`, "changed"},
		{"confluence", `version:11`, `version:11`, "same"},
		{"confluence", `11`, `version:12`, "changed"},
		{"confluence", `version:eleven`, `version:eleven`, "unknown"},
		{"nextcloud", `"5f3c1d2e"`, `"5f3c1d2f"`, "changed?"},
		{"owncloud", `"5f3c1d2e"`, `"5f3c1d2e"`, "same"},
		{"webdav", `"5f3c1d2e"`, `"5f3c1d2f"`, "changed?"},
		{"gitlab", `blob_id:79f7bbd25901e8334750839545a9bd021f0e4c83`, `blob_id:79f7bbd25901e8334750839545a9bd021f0e4c84`, "changed"},
		// Modification times.
		{"last-modified", `2026-02-11T10:41:07+01:00`, `Wed, 11 Feb 2026 09:41:07 GMT`, "same-weak"},
		{"last-modified", `Wed, 11 Feb 2026 10:41:07 +0100`, `Wed, 11 Feb 2026 09:41:07 GMT`, "same-weak"},
		{"last-modified", `Wed Feb 11 09:41:07 2026`, `Wed, 11 Feb 2026 09:41:07 GMT`, "same-weak"},
		{"last-modified", `2026-02-11T09:41:07.250Z`, `Wed, 11 Feb 2026 09:41:07 GMT`, "same-weak"},
		{"last-modified", `2026-02-11T09:41:07.250Z`, `2026-02-11T09:41:07.900Z`, "changed?"},
		{"last-modified", `2026-02-11T09:41:07.123Z`, `2026-02-11T09:41:07.123456Z`, "same-weak"},
		{"last-modified", `Wed, 11 Feb 2026 09:41:07 GMT`, `Wed, 11 Feb 2026 09:41:08 GMT`, "changed?"},
		{"last-modified", `Wed, 11 Feb 2026 09:41:07 CET`, `Wed, 11 Feb 2026 09:41:07 CET`, "unknown"},
		{"last-modified", `2026-02-11T09:41:07`, `2026-02-11T09:41:07`, "unknown"},
		{"last-modified", `Mon, 11 Feb 2026 09:41:07 GMT`, `Mon, 11 Feb 2026 09:41:07 GMT`, "unknown"},
		{"last-modified", `yesterday`, `yesterday`, "unknown"},
		{"last-modified", `0001-01-01T00:00:00Z`, `0001-01-01T00:00:00Z`, "unknown"},
		{"last-modified", `Tue, 01 Jan 1980 00:00:00 GMT`, `Tue, 01 Jan 1980 00:00:00 GMT`, "unknown"},
		{"last-modified", `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun, 06 Nov 1994 08:49:37 GMT`, "same-weak"},
		{"last-modified", `"abc"`, `"abc"`, "unknown"},
		{"last-modified", absentTag, `Wed, 11 Feb 2026 09:41:07 GMT`, "unknown"},
		// Digests by their name.
		{"digest", "sha256:9f2a4c1e…7e50f", "sha256:9f2a4c1e…7e50f", "unknown"},
	}
	pointer := func(s string) *string {
		if s == absentTag {
			return nil
		}
		return &s
	}
	for _, c := range cases {
		t.Run(c.kind+" "+c.stored+" "+c.current, func(t *testing.T) {
			checkCase(t, c.kind, pointer(c.stored), pointer(c.current), c.verdict)
		})
	}
}

func TestEqualTagsOfOneFormNeverReadDifferently(t *testing.T) {
	a := `"65ae1f2c-1a2b"`
	for _, kind := range KnownKinds() {
		got := CompareTags(kind, &a, &a)
		if got.Bytes != ReadingUnchanged && got.Bytes != ReadingUnknown {
			t.Errorf("%s: equal tags read %s", kind, got.Bytes)
		}
	}
}

func TestDigestsOutrankTagsAndTimes(t *testing.T) {
	const one, two = "9f2a4c1e0000000000000000000000000000000000000000000000000007e50f", "1f2a4c1e0000000000000000000000000000000000000000000000000007e50f"
	cases := []struct {
		name            string
		kind            string
		stored, current Validators
		bytes           Reading
		grade           Grade
		caveat          string
	}{
		{"equal digests over moved tags", "any", Validators{ETag: `"1"`, SHA256: one}, Validators{ETag: `"2"`, SHA256: one}, ReadingUnchanged, GradeDigest, caveatTagMoved},
		{"different digests under equal tags", "any", Validators{ETag: `"1"`, SHA256: one}, Validators{ETag: `W/"1"`, SHA256: two}, ReadingChanged, GradeDigest, caveatAlarm},
		{"different digests alone", "any", Validators{SHA256: one}, Validators{SHA256: two}, ReadingChanged, GradeDigest, ""},
		{"digests in another case", "any", Validators{SHA256: one}, Validators{SHA256: strings.ToUpper(one)}, ReadingUnchanged, GradeDigest, ""},
		{"one digest only", "any", Validators{ETag: `"1"`, SHA256: one}, Validators{ETag: `"1"`}, ReadingUnchanged, GradeStrongETag, ""},
		{"a damaged digest", "any", Validators{ETag: `"1"`, SHA256: "9f2a"}, Validators{ETag: `"1"`, SHA256: one}, ReadingUnchanged, GradeStrongETag, caveatBadDigest},
		{"the digest of nothing", "any", Validators{SHA256: emptySHA256}, Validators{SHA256: emptySHA256}, ReadingUnchanged, GradeDigest, caveatEmpty},
		{"tags before times", "any", Validators{ETag: `"1"`, LastModified: "Wed, 11 Feb 2026 09:41:07 GMT"}, Validators{ETag: `"1"`, LastModified: "Wed, 11 Feb 2026 10:00:00 GMT"}, ReadingUnchanged, GradeStrongETag, caveatTimeMoved},
		{"times where a tag went missing", "any", Validators{ETag: `"1"`, LastModified: "Wed, 11 Feb 2026 09:41:07 GMT"}, Validators{LastModified: "2026-02-11T09:41:07Z"}, ReadingUnchanged, GradeLastModified, "The source sends no tag now."},
		{"times alone", "any", Validators{LastModified: "Wed, 11 Feb 2026 09:41:07 GMT"}, Validators{LastModified: "Wed, 11 Feb 2026 09:41:08 GMT"}, ReadingMaybeChanged, GradeLastModified, ""},
		{"a time that was taken for the tag", "last-modified", Validators{ETag: "Wed, 11 Feb 2026 09:41:07 GMT"}, Validators{LastModified: "2026-02-11T09:41:07Z"}, ReadingUnchanged, GradeLastModified, ""},
		{"nothing at all", "any", Validators{}, Validators{}, ReadingUnknown, GradeNone, caveatNothingHeld},
		{"nothing in common", "any", Validators{ETag: `"1"`}, Validators{LastModified: "Wed, 11 Feb 2026 09:41:07 GMT"}, ReadingUnknown, GradeNone, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := CompareBytes(c.kind, c.stored, c.current)
			if got.Bytes != c.bytes || got.Grade != c.grade {
				t.Errorf("%s by %s, want %s by %s", got.Bytes, got.Grade, c.bytes, c.grade)
			}
			if c.caveat != "" && !slices.Contains(got.Caveats, c.caveat) {
				t.Errorf("caveats %q lack %q", got.Caveats, c.caveat)
			}
			if c.caveat != caveatAlarm && slices.Contains(got.Caveats, caveatAlarm) {
				t.Error("an alarm without a cause")
			}
		})
	}
}

func TestCaveatsAreNeverNullInJSON(t *testing.T) {
	for _, e := range []Evidence{{}, UnknownBytes(), CompareTags("any", new(`"1"`), new(`"1"`))} {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), `"caveats":[]`) {
			t.Errorf("%s", b)
		}
	}
}

func TestProbePolicyNamesEveryFault(t *testing.T) {
	p := ProbePolicy{
		URL: "ftp://{doc_id}.example.com/x", ETagFrom: "body", Fetch: "sometimes", Kind: "a\nb",
		Headers: map[string]string{"Authorization": "Bearer abc", "Range": "bytes=1-", "X Y": "z", "X-Key": "secret:", "Accept": "text/html"},
	}
	var got []string
	for _, f := range p.Validate() {
		got = append(got, f.Pointer)
		if strings.Contains(f.Detail, "abc") {
			t.Errorf("the fault repeats a secret: %s", f.Detail)
		}
	}
	want := []string{"/probe/url", "/probe/kind", "/probe/etag_from", "/probe/fetch", "/probe/headers/Authorization", "/probe/headers/Range", "/probe/headers/X Y", "/probe/headers/X-Key"}
	if !slices.Equal(got, want) {
		t.Errorf("faults at %q, want %q", got, want)
	}
	sound := ProbePolicy{URL: "https://wiki/api/doc/{doc_id}", Kind: "any", ETagFrom: "json:/version/number", Fetch: FetchNever, Headers: map[string]string{"Authorization": "secret:WIKI"}}
	if faults := append(sound.Validate(), ProbePolicy{}.Validate()...); len(faults) > 0 {
		t.Errorf("faults of sound policies: %v", faults)
	}
}

func TestAddressesTakeAnIdAsOneSegmentOrOneValue(t *testing.T) {
	cases := []struct{ url, id, want string }{
		{"https://wiki/doc/{doc_id}", "1147829310", "https://wiki/doc/1147829310"},
		{"https://wiki/doc/{doc_id}", "a/b c?d#e%", "https://wiki/doc/a%2Fb%20c%3Fd%23e%25"},
		{"https://wiki/doc?id={doc_id}&v=1", "a&b=c+d#e", "https://wiki/doc?id=a%26b%3Dc%2Bd%23e&v=1"},
		{"https://wiki/doc/{doc_id}", "Überweisung", "https://wiki/doc/%C3%9Cberweisung"},
		{"https://wiki/doc/{doc_id}", "..", ""},
		{"https://wiki/doc/{doc_id}", "../../admin", ""},
		{"https://wiki/doc/{doc_id}", `a\..\b`, ""},
		{"https://{doc_id}/x", "wiki", ""},
		{"https://wiki:{doc_id}/x", "80", ""},
		{"https://wiki/x", "1", ""},
		{"https://u:p@wiki/{doc_id}", "1", ""},
	}
	for _, c := range cases {
		u, err := ProbePolicy{URL: c.url}.Address(c.id)
		switch {
		case c.want == "" && err == nil:
			t.Errorf("%s with %q gave %s, want a refusal", c.url, c.id, u)
		case c.want == "" && KindOf(err) != KindInvalid:
			t.Errorf("%s with %q: kind %s", c.url, c.id, KindOf(err))
		case c.want != "" && err != nil:
			t.Errorf("%s with %q: %v", c.url, c.id, err)
		case c.want != "" && u.String() != c.want:
			t.Errorf("%s with %q gave %s, want %s", c.url, c.id, u, c.want)
		}
	}
}
