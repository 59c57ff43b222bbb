package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

// ReadJSON reads the request's body as JSON into a struct, or whatever dst
// points to, strictly; see DecodeInto.
func ReadJSON(c echo.Context, dst any) error {
	if err := CheckContentType(c, "application/json"); err != nil {
		return err
	}
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return bodyError(err)
	}
	return DecodeInto(body, dst)
}

// bodyError tells a body that is too large from a client that went away.
func bodyError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return dlq.Errorf(dlq.KindTooLarge, "The body is larger than the %d bytes that are accepted here.", tooLarge.Limit).Because(err)
	}
	return dlq.Errorf(dlq.KindMalformed, "The body broke off before its end.").Because(err)
}

// CheckContentType refuses, as KindUnsupported, a body of another media type
// than those accepted and one that is compressed, whose true size nobody knows.
func CheckContentType(c echo.Context, accepted ...string) error {
	h := c.Request().Header
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return dlq.Errorf(dlq.KindUnsupported, "Compressed bodies are not accepted: send it without Content-Encoding.")
	}
	got, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || !slices.Contains(accepted, got) {
		return dlq.Errorf(dlq.KindUnsupported, "Content-Type %s expected.", strings.Join(accepted, " or "))
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return dlq.Errorf(dlq.KindUnsupported, "The charset must be UTF-8.")
	}
	return nil
}

// DecodeInto reads one JSON value into what dst points to. Beyond what
// dlq.DecodeValue refuses as malformed, it is KindInvalid, with every fault
// named, when an object has a name that the struct has not in exactly that
// spelling, or a value is not of the field's type: encoding/json alone would
// take CONTENT_HASH for content_hash and drop what it does not know.
func DecodeInto(body []byte, dst any) error {
	value, err := dlq.DecodeValue(body, dlq.MaxJSONDepth)
	if err != nil {
		return err
	}
	target := reflect.ValueOf(dst)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decode JSON into %T: a pointer expected", dst)
	}
	var faults []dlq.Fault
	checkShape(value, target.Type().Elem(), "", &faults)
	if len(faults) > 0 {
		return dlq.Invalid("Some fields are not as expected: "+summary(faults)+".", faults...)
	}
	decoder := json.NewDecoder(bytes.NewReader(dlq.CanonicalJSON(value)))
	decoder.UseNumber()
	if err := decoder.Decode(dst); err != nil {
		return dlq.Errorf(dlq.KindInvalid, "A field is not as expected.").Because(err)
	}
	return nil
}

func summary(faults []dlq.Fault) string {
	first := faults[0]
	text := first.Detail
	if first.Pointer != "" {
		text = first.Pointer + ": " + first.Detail
	}
	if len(faults) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(faults)-1)
	}
	return text
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// checkShape compares a value with the type it is to be read into.
func checkShape(value any, t reflect.Type, pointer string, faults *[]dlq.Fault) {
	for t.Kind() == reflect.Pointer {
		if value == nil {
			return
		}
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) || value == nil {
		checkLeaf(value, t, pointer, faults)
		return
	}
	switch t.Kind() {
	case reflect.Interface:
	case reflect.Struct:
		object, ok := value.(map[string]any)
		if !ok {
			wrongType(value, "an object", pointer, faults)
			return
		}
		fields := jsonFields(t)
		for _, name := range sortedNames(object) {
			field, known := fields[name]
			if !known {
				*faults = append(*faults, dlq.Fault{Pointer: pointer + "/" + escapePointer(name), Detail: "there is no such field"})
				continue
			}
			checkShape(object[name], field, pointer+"/"+escapePointer(name), faults)
		}
	case reflect.Map:
		object, ok := value.(map[string]any)
		if !ok {
			wrongType(value, "an object", pointer, faults)
			return
		}
		for _, name := range sortedNames(object) {
			checkShape(object[name], t.Elem(), pointer+"/"+escapePointer(name), faults)
		}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			checkLeaf(value, t, pointer, faults)
			return
		}
		list, ok := value.([]any)
		if !ok {
			wrongType(value, "a list", pointer, faults)
			return
		}
		for i, item := range list {
			checkShape(item, t.Elem(), pointer+"/"+strconv.Itoa(i), faults)
		}
	default:
		checkLeaf(value, t, pointer, faults)
	}
}

// checkLeaf lets encoding/json judge a single value.
func checkLeaf(value any, t reflect.Type, pointer string, faults *[]dlq.Fault) {
	if err := json.Unmarshal(dlq.CanonicalJSON(value), reflect.New(t).Interface()); err == nil {
		return
	}
	switch t.Kind() {
	case reflect.String:
		wrongType(value, "text", pointer, faults)
	case reflect.Bool:
		wrongType(value, "true or false", pointer, faults)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		wrongType(value, "a whole number", pointer, faults)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		wrongType(value, "a whole number from 0", pointer, faults)
	case reflect.Float32, reflect.Float64:
		wrongType(value, "a number", pointer, faults)
	case reflect.Slice:
		wrongType(value, "base64 text", pointer, faults)
	default:
		if t.PkgPath() == "time" && t.Name() == "Time" {
			wrongType(value, "a time such as 2026-01-31T12:00:00Z", pointer, faults)
			return
		}
		wrongType(value, "another value", pointer, faults)
	}
}

func wrongType(value any, expected, pointer string, faults *[]dlq.Fault) {
	got := dlq.JSONTypeName(value)
	if number, ok := value.(json.Number); ok && strings.Contains(expected, "number") {
		got = cut(number.String(), 40)
	}
	*faults = append(*faults, dlq.Fault{Pointer: pointer, Detail: expected + " expected, got " + got})
}

// jsonFields gives the names of a struct's fields as encoding/json has them,
// embedded structs included, with their types.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-", field.PkgPath != "", field.Anonymous && name == "":
			continue
		case name == "":
			name = field.Name
		}
		fields[name] = field.Type
	}
	return fields
}

func sortedNames(object map[string]any) []string {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(cut(name, 64))
}

// Line is one line of newline-delimited JSON, without its end.
type Line struct {
	Number int // from 1, blank lines counted
	Bytes  []byte
	Err    error // KindTooLarge: longer than the limit; Bytes is empty then
}

// Lines reads newline-delimited JSON with a bound on each line. A line that is
// too long is reported and passed over without being kept in memory, and the
// next one is read as ever. Blank lines are left out.
type Lines struct {
	in    *bufio.Reader
	limit int
	line  Line
	err   error
}

// NewLines reads lines of at most limit bytes.
func NewLines(r io.Reader, limit int) *Lines {
	return &Lines{in: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// Next moves to the next line and says whether there is one. After false, Err
// says whether the input ended or broke off.
func (l *Lines) Next() bool {
	number := l.line.Number
	for l.err == nil {
		number++
		line := l.read()
		if line == nil && l.err != nil {
			return false
		}
		l.line = Line{Number: number, Bytes: line}
		if len(line) > l.limit {
			l.line.Bytes = nil
			l.line.Err = dlq.Errorf(dlq.KindTooLarge, "The line is longer than the %d bytes that are accepted.", l.limit)
			return true
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return true
		}
	}
	return false
}

// Line is the line that Next moved to. Its bytes are the caller's.
func (l *Lines) Line() Line { return l.line }

// Err is nil at the end of the input, else why reading broke off: KindTooLarge
// past the limit of the body.
func (l *Lines) Err() error {
	if l.err == nil || l.err == io.EOF {
		return nil
	}
	return bodyError(l.err)
}

// read gives the next line without its end, of which it keeps at most one byte
// more than the limit; nil and l.err set when there is none. A last line that
// the input broke off in is not a line: half a record must not count.
func (l *Lines) read() []byte {
	line := []byte{}
	for {
		piece, err := l.in.ReadSlice('\n')
		ended := err == nil
		if ended {
			piece = piece[:len(piece)-1]
		}
		if room := l.limit + 2 - len(line); room > 0 { // one for a carriage return
			line = append(line, piece[:min(len(piece), room)]...)
		}
		switch {
		case ended:
			return bytes.TrimSuffix(line, []byte("\r"))
		case err == bufio.ErrBufferFull:
			continue
		}
		l.err = err
		if err != io.EOF || len(line) == 0 {
			return nil
		}
		return bytes.TrimSuffix(line, []byte("\r"))
	}
}
