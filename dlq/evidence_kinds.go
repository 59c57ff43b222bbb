package dlq

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	kindAny          = "any"
	kindLastModified = "last-modified"
	kindDigest       = "digest"
)

// tagKind is what is known of the tags of one sort of source.
type tagKind struct {
	name string

	// moved says what it means that two well-formed tags differ, given what
	// stands between their quotes without an encoding suffix. Nil: the bytes
	// changed, as an entity tag is meant to say.
	moved func(stored, current string) (Reading, string)

	// equal gives the caveat of equal tags that are weak evidence all the same.
	equal func(opaque string) string

	// form tells apart the sorts of tag that one source has; two sorts cannot
	// be compared. Nil: there is one.
	form func(t entityTag) string

	bareIsUsual bool   // the source itself writes its tags without quotes
	number      string // the label that a bare number stands for
}

var tagKinds = []tagKind{
	{name: kindAny},
	{name: "nginx", moved: statMoved(mtimeSize), equal: statEqual(mtimeSize)},
	{name: "apache", moved: statMoved(inodeSizeMtime), equal: statEqual(inodeSizeMtime)},
	{name: "express", moved: expressMoved, equal: statEqual(sizeMtime)},
	{name: "tomcat", moved: statMoved(sizeMtime), equal: statEqual(sizeMtime)},
	{name: "jetty"},
	{name: "iis", moved: iisMoved},
	{name: "cloudflare"},
	{name: "cloudfront"},
	{name: "envoy"},
	{name: "s3", moved: s3Moved},
	{name: "s3+kms", moved: mayMove("Encrypting equal bytes anew gives an object under a customer's key a new tag.")},
	{name: "gcs", moved: gcsMoved, form: gcsForm, bareIsUsual: true, number: "generation"},
	{name: "azure-blob", moved: mayMove("The tag of a blob also moves with its metadata.")},
	{name: "graph", moved: graphMoved, form: graphForm},
	{name: "graph-ctag", moved: graphMoved, form: graphForm, equal: graphCTagEqual},
	{name: "sharepoint", moved: graphMoved, form: graphForm},
	{name: "drive-v3", moved: mayMove("A tag of Drive moves with every change, content or not."), number: "version"},
	{name: "mediawiki", moved: mediawikiMoved, number: "revision"},
	{name: "confluence", moved: mayMove("The tag of a page also moves when only its surroundings do."), number: "version"},
	{name: "webdav", moved: mayMove("Many WebDAV servers move the tag for a rescan, a share or a property.")},
	{name: "nextcloud", moved: mayMove("The tag of a file also moves when it is scanned or shared.")},
	{name: "owncloud", moved: mayMove("The tag of a file also moves when it is scanned or shared.")},
	{name: "gitlab", moved: mayMove("The tag is that of the answer, which also holds what is not the file.")},
	{name: kindLastModified},
	{name: kindDigest},
}

// KnownKinds lists the kinds that CompareTags knows, "any" first.
func KnownKinds() []string {
	names := make([]string, len(tagKinds))
	for i, k := range tagKinds {
		names[i] = k.name
	}
	return names
}

func kindNamed(name string) tagKind {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, k := range tagKinds {
		if k.name == name {
			return k
		}
	}
	return tagKinds[0]
}

func mayMove(why string) func(string, string) (Reading, string) {
	return func(string, string) (Reading, string) { return ReadingMaybeChanged, why }
}

// Stat tags: what a file server makes of a file's size and modification time,
// without a look at its bytes.

// fileStat is such a tag taken apart; empty parts are not in the tag.
type fileStat struct{ inode, size, mtime string }

var (
	hexParts     = regexp.MustCompile(`^[0-9a-fA-F]+(?:-[0-9a-fA-F]+){1,2}$`)
	bodyDigest   = regexp.MustCompile(`^[0-9a-f]+-[A-Za-z0-9+/_-]{22,}=*$`)
	zeroMtime    = regexp.MustCompile(`^0+$`)
	caveatMtime  = "The file's size is the same; only its time moved, as a copy or a new checkout does too."
	caveatInode  = "Only the inode differs: the same file on another server, or a copy."
	caveatOnSize = "The file has no modification time, so this tag is no more than its size."
)

func mtimeSize(opaque string) (fileStat, bool) {
	p, ok := statParts(opaque, 2)
	if !ok {
		return fileStat{}, false
	}
	return fileStat{mtime: p[0], size: p[1]}, true
}

func sizeMtime(opaque string) (fileStat, bool) {
	p, ok := statParts(opaque, 2)
	if !ok {
		return fileStat{}, false
	}
	return fileStat{size: p[0], mtime: p[1]}, true
}

// inodeSizeMtime reads httpd's FileETag: three parts up to 2.3.14, two since.
func inodeSizeMtime(opaque string) (fileStat, bool) {
	if p, ok := statParts(opaque, 3); ok {
		return fileStat{inode: p[0], size: p[1], mtime: p[2]}, true
	}
	return sizeMtime(opaque)
}

func statParts(opaque string, n int) ([]string, bool) {
	if !hexParts.MatchString(opaque) {
		return nil, false
	}
	p := strings.Split(opaque, "-")
	return p, len(p) == n
}

func statMoved(read func(string) (fileStat, bool)) func(string, string) (Reading, string) {
	return func(stored, current string) (Reading, string) {
		a, okA := read(stored)
		b, okB := read(current)
		switch {
		case !okA || !okB || a.size != b.size:
			return ReadingChanged, ""
		case a.mtime != b.mtime:
			return ReadingMaybeChanged, caveatMtime
		}
		return ReadingMaybeChanged, caveatInode
	}
}

func statEqual(read func(string) (fileStat, bool)) func(string) string {
	return func(opaque string) string {
		if s, ok := read(opaque); ok && zeroMtime.MatchString(s.mtime) {
			return caveatOnSize
		}
		return ""
	}
}

// expressMoved: the same form serves files (size and time) and bodies (length
// and a digest, which is long).
func expressMoved(stored, current string) (Reading, string) {
	if bodyDigest.MatchString(stored) && bodyDigest.MatchString(current) {
		return ReadingChanged, ""
	}
	return statMoved(sizeMtime)(stored, current)
}

// iisMoved: the file's time, a colon, the number of the server's
// configuration, which differs within a farm and after a restart.
func iisMoved(stored, current string) (Reading, string) {
	a, _, _ := strings.Cut(stored, ":")
	b, _, _ := strings.Cut(current, ":")
	if a == b {
		return ReadingMaybeChanged, "Only the server's change number differs, which is not the file's."
	}
	return ReadingChanged, ""
}

// Object stores.

var (
	md5Tag       = regexp.MustCompile(`^[0-9a-fA-F]{32}$`)
	multipartTag = regexp.MustCompile(`^[0-9a-fA-F]{32}-[0-9]+$`)
)

func s3Moved(stored, current string) (Reading, string) {
	switch {
	case strings.EqualFold(stored, current):
		return ReadingMaybeChanged, "The tags differ in nothing but the case of their letters."
	case md5Tag.MatchString(stored) && md5Tag.MatchString(current):
		return ReadingChanged, ""
	case multipartTag.MatchString(stored) || multipartTag.MatchString(current):
		return ReadingMaybeChanged, "The tag of a multipart upload depends on its parts: equal bytes copied or sent in other parts have another."
	}
	return ReadingMaybeChanged, "The tag is no digest of the bytes."
}

// gcsForm: the XML API gives the MD5 or, for composed objects, a tag that
// begins with a hyphen; the JSON API gives its own, without quotes.
func gcsForm(t entityTag) string {
	if md5Tag.MatchString(t.opaque) {
		return "md5"
	}
	if strings.HasPrefix(t.opaque, "-") {
		return "xml"
	}
	return "json"
}

func gcsMoved(stored, current string) (Reading, string) {
	if md5Tag.MatchString(stored) {
		if strings.EqualFold(stored, current) {
			return ReadingMaybeChanged, "The tags differ in nothing but the case of their letters."
		}
		return ReadingChanged, ""
	}
	return ReadingMaybeChanged, "This tag also moves with the object's metadata; its generation would tell."
}

// Document services.

var graphTag = regexp.MustCompile(`^(?:c:)?(\{[0-9a-fA-F-]+\}),([0-9]+)$`)

func graphForm(t entityTag) string {
	if strings.HasPrefix(t.opaque, "c:") {
		return "content"
	}
	return "item"
}

func graphCTagEqual(string) string {
	return "A cTag is meant to move with the content, and has been seen not to."
}

func graphMoved(stored, current string) (Reading, string) {
	a, b := graphTag.FindStringSubmatch(stored), graphTag.FindStringSubmatch(current)
	if a != nil && b != nil && !strings.EqualFold(a[1], b[1]) {
		return ReadingChanged, "Another item stands in its place."
	}
	return ReadingMaybeChanged, "The tag also moves for what is not content: a new name, a property, the service's own work."
}

var mediawikiTag = regexp.MustCompile(`^([0-9]+)(?:/(.*))?$`)

// mediawikiMoved: the revision, and behind a slash the rendering of it.
func mediawikiMoved(stored, current string) (Reading, string) {
	a, b := mediawikiTag.FindStringSubmatch(stored), mediawikiTag.FindStringSubmatch(current)
	if a == nil || b == nil {
		return ReadingChanged, ""
	}
	if order := compareNumbers(a[1], b[1]); order != 0 {
		return onlyForward(order, ReadingChanged, "")
	}
	return ReadingMaybeChanged, "The revision is the same and was rendered anew: the text is equal, the page may not be."
}

// onlyForward gives the reading of a counter that only ever grows, where order is
// that of stored to current. Run backwards, it is a stale answer or a restored
// space, and neither says what the document is now.
func onlyForward(order int, moved Reading, caveat string) (Reading, string) {
	if order > 0 {
		return ReadingUnknown, "The version went backwards: a stale answer, or a restored document. Fetch it before judging."
	}
	return moved, caveat
}

// Labelled values: name:value, for what is a version but no entity tag.

// versionLabel is what is known of one such name.
type versionLabel struct {
	name    string // lower case
	digest  int    // bytes of the digest that the value is; 0: none
	counter bool   // the value is a number that only grows
	moved   Reading
	caveat  string // of a difference
	equal   string // caveat that makes equality weak evidence
	blind   string // why equality says nothing at all
}

var versionLabels = []versionLabel{
	{name: "md5", digest: 16, moved: ReadingChanged},
	{name: "sha1", digest: 20, moved: ReadingChanged},
	{name: "sha256", digest: 32, moved: ReadingChanged},
	{name: "sha512", digest: 64, moved: ReadingChanged},
	{name: "quickxorhash", digest: 20, moved: ReadingChanged},
	{name: "crc32c", digest: 4, moved: ReadingChanged, equal: "A checksum of 32 bits is weak evidence."},
	{name: "generation", moved: ReadingChanged, caveat: "A new generation is a new upload; that of equal bytes looks the same."},
	{name: "metageneration", moved: ReadingMaybeChanged, caveat: "The metageneration counts changes of metadata.",
		blind: "An equal metageneration says nothing of the bytes: it starts anew with each generation."},
	{name: "headrevisionid", moved: ReadingChanged},
	{name: "revision", counter: true, moved: ReadingChanged},
	{name: "version", counter: true, moved: ReadingMaybeChanged, caveat: "A version counts every change, content or not."},
	{name: "blob_id", moved: ReadingChanged},
	{name: "last_commit_id", moved: ReadingMaybeChanged, caveat: "A commit may touch a file's mode or name alone."},
	{name: "commit_id", moved: ReadingMaybeChanged, caveat: "A commit stands for the whole repository."},
}

// labelOf splits name:value where the name is one that means something; a bare
// number has the label that the kind gives it. No label: "".
func labelOf(k tagKind, s string) (name, value string) {
	if k.number != "" && allDigits(s) {
		return k.number, s
	}
	name, value, ok := strings.Cut(s, ":")
	if !ok {
		return "", s
	}
	name = strings.ToLower(name)
	for _, l := range versionLabels {
		if l.name == name {
			return name, value
		}
	}
	return "", s
}

// compareLabelled compares two values under one label.
func compareLabelled(k tagKind, name, stored, current string) Evidence {
	l := labelNamed(name)
	if k.name == "confluence" && name == "version" {
		// The version of a page is that of its text.
		l.moved, l.caveat = ReadingChanged, ""
	}
	if l.digest > 0 {
		return compareDigestValues(k, l, stored, current)
	}
	if !plainValue(stored) || !plainValue(current) || l.counter && (!allDigits(stored) || !allDigits(current)) {
		return UnknownBytes("A value of " + name + " is not well-formed.")
	}
	order := strings.Compare(stored, current)
	if l.counter {
		order = compareNumbers(stored, current)
	}
	if order == 0 {
		if l.blind != "" {
			return UnknownBytes(l.blind)
		}
		return evidenceOf(ReadingUnchanged, GradeStrongETag)
	}
	reading, caveat := l.moved, l.caveat
	if l.counter {
		reading, caveat = onlyForward(order, l.moved, l.caveat)
	}
	if reading == ReadingUnknown {
		return UnknownBytes(caveat)
	}
	return evidenceOf(reading, GradeStrongETag, caveat)
}

// compareDigestValues compares digests that the source gives, in hex or in
// base64, as each API has it.
func compareDigestValues(k tagKind, l versionLabel, stored, current string) Evidence {
	a, okA := digestBytes(stored, l.digest)
	b, okB := digestBytes(current, l.digest)
	if !okA || !okB {
		return UnknownBytes("A value of " + l.name + " is not a whole digest.")
	}
	grade := GradeStrongETag
	if k.name == kindDigest && l.name == "sha256" {
		grade = GradeDigest
	}
	if a != b {
		return evidenceOf(l.moved, grade, l.caveat)
	}
	if l.equal != "" {
		return evidenceOf(ReadingUnchanged, GradeWeakETag, l.equal)
	}
	e := evidenceOf(ReadingUnchanged, grade)
	if x := hex.EncodeToString([]byte(a)); x == emptyMD5 || x == emptySHA256 {
		e = e.Because(caveatEmpty)
	}
	return e
}

func digestBytes(s string, n int) (string, bool) {
	if raw, err := hex.DecodeString(s); err == nil && len(raw) == n {
		return string(raw), true
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	return string(raw), err == nil && len(raw) == n
}

func labelNamed(name string) versionLabel {
	for _, l := range versionLabels {
		if l.name == name {
			return l
		}
	}
	return versionLabel{}
}

func plainValue(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t\r\n\"")
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// compareNumbers orders decimal numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		if len(a) < len(b) {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}
