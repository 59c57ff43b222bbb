package dlq

import (
	"html"
	"regexp"
	"slices"
	"strings"
)

const (
	caveatUnquoted = "The quoting of a tag was damaged; it was repaired for this comparison only."
	caveatWeak     = "A weak tag says equivalent, not equal octet for octet."
	caveatEncoding = "The tags are equal but for the suffix of a content encoding."
	caveatKinds    = "The two tags are of different kinds and cannot be compared."
)

// entityTag is one entity tag (RFC 9110 §8.8.3) taken apart.
type entityTag struct {
	weak     bool
	opaque   string // what stands between the quotes
	repaired bool   // the quotes were not where they belong
	bare     bool   // there were no quotes at all
}

// CompareTags compares two validators of one kind. Both are raw; nil and the
// empty string are absent, "" between its quotes is a value. The weak
// comparison of RFC 9110 §8.8.3.2 decides whether tags are equal; what the
// kind knows of its tags decides what a difference means. A kind that is not
// among KnownKinds is read as "any".
func CompareTags(kind string, stored, current *string) Evidence {
	if noTag(stored) && noTag(current) {
		return UnknownBytes("Neither side has a tag.")
	}
	if noTag(stored) {
		return UnknownBytes("No tag was recorded with the failure.")
	}
	if noTag(current) {
		return UnknownBytes("The source sends no tag now.")
	}
	k := kindNamed(kind)
	a, b := strings.Trim(*stored, " \t"), strings.Trim(*current, " \t")

	if k.name == kindLastModified {
		return compareTimes(a, b)
	}
	labelA, valueA := labelOf(k, a)
	labelB, valueB := labelOf(k, b)
	if labelA != labelB {
		return UnknownBytes(caveatKinds)
	}
	if labelA != "" {
		return compareLabelled(k, labelA, valueA, valueB)
	}
	if k.name == kindDigest {
		return UnknownBytes("A digest is written as its algorithm, a colon and all its digits.")
	}
	_, timeA := parseInstant(a)
	_, timeB := parseInstant(b)
	if timeA != timeB {
		return UnknownBytes(caveatKinds)
	}
	if timeA {
		return compareTimes(a, b).Because(caveatAsTime)
	}

	ta, why := parseTag(k, a)
	if why != "" {
		return UnknownBytes("The recorded tag " + why)
	}
	tb, why := parseTag(k, b)
	if why != "" {
		return UnknownBytes("The source's tag " + why)
	}
	return compareParsed(k, ta, tb)
}

// compareParsed compares two tags that are well-formed or were repaired.
func compareParsed(k tagKind, a, b entityTag) Evidence {
	if k.form != nil && k.form(a) != k.form(b) {
		return UnknownBytes(caveatKinds)
	}
	repaired := ""
	if (a.repaired || b.repaired) && !(a.bare && b.bare && k.bareIsUsual) {
		repaired = caveatUnquoted
	}
	grade := GradeStrongETag
	weak := ""
	if a.weak || b.weak {
		grade, weak = GradeWeakETag, caveatWeak
	}

	if a.opaque == b.opaque {
		e := evidenceOf(ReadingUnchanged, grade, repaired, weak)
		if k.equal != nil {
			if caveat := k.equal(a.opaque); caveat != "" {
				e.Grade = GradeWeakETag
				e = e.Because(caveat)
			}
		}
		if strings.EqualFold(a.opaque, emptyMD5) {
			e = e.Because(caveatEmpty)
		}
		return e
	}
	baseA, baseB := withoutEncoding(a.opaque), withoutEncoding(b.opaque)
	if baseA == baseB {
		return evidenceOf(ReadingUnchanged, GradeWeakETag, repaired, weak, caveatEncoding)
	}
	reading, caveat := ReadingChanged, ""
	if k.moved != nil {
		reading, caveat = k.moved(baseA, baseB)
	}
	if reading == ReadingUnknown {
		return UnknownBytes(repaired, caveat)
	}
	return evidenceOf(reading, grade, repaired, caveat)
}

var (
	encodingSuffix = regexp.MustCompile(`(?:--|[-;])(?:x-gzip|gzip|br|deflate|zstd)$`)
	outsideSuffix  = regexp.MustCompile(`^((?:W/)?"[^"]*)"([-;](?:gzip|br|deflate|zstd))$`)
	tagList        = regexp.MustCompile(`"\s*,\s*(?:W/)?"`)
)

// withoutEncoding takes off what a server appends to the tag of a compressed
// representation: -gzip of httpd, --gzip of Jetty, ;br of others.
func withoutEncoding(opaque string) string { return encodingSuffix.ReplaceAllString(opaque, "") }

// parseTag takes a tag apart, repairing the damage to its quotes that is known
// to happen on the way: none left, kept twice by a JSON encoder, XML entities
// or percent escapes not decoded. Whatever else is wrong is not repaired; then
// why is the end of a sentence that began with "The tag".
func parseTag(k tagKind, s string) (t entityTag, why string) {
	if s == "*" {
		return entityTag{}, "is *, which is a condition and no tag."
	}
	if tagList.MatchString(s) {
		return entityTag{}, "is a list of tags."
	}
	if k.name == "apache" {
		// mod_deflate once put its suffix behind the closing quote.
		if m := outsideSuffix.FindStringSubmatch(s); m != nil {
			s, t.repaired = m[1]+m[2]+`"`, true
		}
	}
	if undone, ok := undamage(s); ok {
		s, t.repaired = undone, true
	}
	body, weak := strings.CutPrefix(s, "W/")
	t.weak = weak
	switch {
	case len(body) >= 2 && body[0] == '"' && body[len(body)-1] == '"':
		t.opaque = body[1 : len(body)-1]
	case strings.ContainsAny(body, `"'`):
		return entityTag{}, "is not well-formed: its quotes do not pair, or something stands outside them."
	case body == "":
		return entityTag{}, "is not well-formed: nothing follows its W/."
	case slices.Contains(printedNothing, strings.ToLower(body)):
		return entityTag{}, "is the word that a program prints for no value."
	default:
		t.opaque, t.repaired, t.bare = body, true, true
	}
	if strings.Contains(t.opaque, "\uFFFD") {
		// JSON turns bytes that are no UTF-8 into this; two tags that differ in
		// such bytes would look equal.
		return entityTag{}, "holds a mark for bytes that were lost when it was stored."
	}
	for i := range len(t.opaque) {
		// etagc = %x21 / %x23-7E / obs-text (RFC 9110 §8.8.3)
		if c := t.opaque[i]; c <= 0x20 || c == '"' || c == 0x7f {
			return entityTag{}, "is not well-formed: it holds a character that no tag may hold."
		}
	}
	return t, ""
}

var printedNothing = []string{"null", "none", "nil", "undefined", "nan", "(null)", "<nil>", "-"}

// undamage takes one layer of foreign quoting off, once.
func undamage(s string) (string, bool) {
	body, weak := strings.CutPrefix(s, "W/")
	prefix := ""
	if weak {
		prefix = "W/"
	}
	lower := strings.ToLower(body)
	switch {
	case len(body) >= 6 && strings.HasPrefix(body, `"\"`) && strings.HasSuffix(body, `\""`):
		return prefix + `"` + body[3:len(body)-3] + `"`, true
	case len(body) >= 8 && strings.HasPrefix(body, `"W/\"`) && strings.HasSuffix(body, `\""`):
		return `W/"` + body[5:len(body)-3] + `"`, true
	case len(body) >= 4 && strings.HasPrefix(body, `\"`) && strings.HasSuffix(body, `\"`):
		return prefix + `"` + body[2:len(body)-2] + `"`, true
	case strings.HasPrefix(lower, "&quot;") || strings.HasPrefix(lower, "&#34;") || strings.HasPrefix(lower, "&#x22;"):
		return prefix + html.UnescapeString(body), true
	case len(body) >= 6 && strings.HasPrefix(body, "%22") && strings.HasSuffix(body, "%22"):
		return prefix + `"` + body[3:len(body)-3] + `"`, true
	case strings.HasPrefix(lower, "w%2f%22") && strings.HasSuffix(body, "%22") && len(body) >= 10:
		return `W/"` + body[7:len(body)-3] + `"`, true
	}
	return s, false
}

func noTag(s *string) bool { return s == nil || noText(*s) }

func noText(s string) bool { return strings.Trim(s, " \t") == "" }

func firstText(a, b string) string {
	if noText(a) {
		return b
	}
	return a
}

// isHex says whether s is exactly n hexadecimal digits of either case.
func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return true
}
