package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// importInput is a file of NDJSON: what was packed is unpacked, and a mark of
// UTF-8 before its first line is left out. Anything else is refused by a
// sentence that names what it is and how to make NDJSON of it.
type importInput struct {
	io.Reader
	size  int64        // bytes of the file; 0 where nobody knows
	read  atomic.Int64 // bytes of the file that were read, packed as they are
	close []func() error
}

// headBytes is how much of a file is looked at.
const headBytes = 4096

// openImport opens a file, or standard input for -. Once the context ends,
// reading ends too.
func openImport(ctx context.Context, name string) (_ *importInput, err error) {
	file := os.Stdin
	if name != "-" {
		if file, err = os.Open(name); err != nil {
			return nil, fileError(err)
		}
	}
	in := &importInput{}
	in.close = append(in.close, file.Close)
	// A signal must not wait for a pipe that has nothing to say.
	stop := context.AfterFunc(ctx, func() { file.Close() })
	in.close = append(in.close, func() error { stop(); return nil })
	defer func() {
		if err != nil {
			in.Close()
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, fileError(err)
	}
	if info.IsDir() {
		return nil, errors.New("this is a folder; a file of NDJSON expected")
	}
	if info.Mode().IsRegular() {
		in.size = info.Size()
	}
	return in, in.unpack(bufio.NewReaderSize(counted{file, &in.read}, 64<<10))
}

// fileError says what stood in the way, without the name, which the line begins with.
func fileError(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Close closes everything, the last opened first.
func (in *importInput) Close() error {
	for i := len(in.close) - 1; i >= 0; i-- {
		in.close[i]() // it was read; nothing can be lost
	}
	return nil
}

// counted counts what is read.
type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

func (in *importInput) unpack(file *bufio.Reader) error {
	head, err := peek(file)
	if err != nil {
		return err
	}
	var inner io.Reader
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		unpacked, err := gzip.NewReader(file)
		if err != nil {
			return errors.New("this begins as gzip does, and cannot be unpacked")
		}
		inner = unpacked
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		unpacked, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return errors.New("this begins as zstd does, and cannot be unpacked")
		}
		in.close = append(in.close, func() error { unpacked.Close(); return nil })
		inner = unpacked
	default:
		return in.take(file, head)
	}
	text := bufio.NewReaderSize(inner, 64<<10)
	if head, err = peek(text); err != nil {
		return in.broken(err)
	}
	return in.take(text, head)
}

// peek looks at the beginning, as much of it as there is.
func peek(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(headBytes)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return head, nil
}

// take checks what the text is, and leaves out the mark of UTF-8 before it.
func (in *importInput) take(text *bufio.Reader, head []byte) error {
	if mark := []byte("\ufeff"); bytes.HasPrefix(head, mark) {
		head = head[len(mark):]
		if _, err := text.Discard(len(mark)); err != nil {
			return err
		}
	}
	if what := notNDJSON(head); what != "" {
		return errors.New(what)
	}
	in.Reader = text
	return nil
}

// broken says of data that could not be unpacked to its end what that means.
func (in *importInput) broken(err error) error {
	switch {
	case errors.Is(err, os.ErrClosed):
		return errors.New("it was closed")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, zstd.ErrMagicMismatch), errors.Is(err, zstd.ErrCRCMismatch):
		return errors.New("the packed data is damaged or not complete")
	}
	return fileError(err)
}

// magics are how files begin that people take for exports.
var magics = []struct{ head, what string }{
	{"%PDF-", "a PDF document"}, {"PK\x03\x04", "a ZIP archive, or an office document"}, {"SQLite format 3\x00", "an SQLite database"}, {"\x89PNG", "a PNG image"},
	{"\xff\xd8\xff", "a JPEG image"}, {"BZh", "packed with bzip2"}, {"\xfd7zXZ\x00", "packed with xz"}, {"PAR1", "a Parquet file"}, {"Obj\x01", "an Avro file"},
}

const ndjsonExpected = "NDJSON expected, one envelope a line"

// notNDJSON says what the beginning of a file is, where it is not NDJSON; empty
// where it may be, or where there is nothing.
func notNDJSON(head []byte) string {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.head)) {
			return "this is " + m.what + "; " + ndjsonExpected
		}
	}
	switch {
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return "this is a tar archive; take the NDJSON out of it first: tar -xf"
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}), utf16Like(head):
		return "this is text in UTF-16; UTF-8 expected: iconv -f UTF-16 -t UTF-8 makes it so"
	case bytes.IndexByte(head, 0) >= 0:
		return "this is a binary file; " + ndjsonExpected
	}
	text := strings.TrimLeft(string(head), " \t\r\n")
	first, _, more := strings.Cut(text, "\n")
	first = strings.TrimSpace(first)
	switch {
	case text == "":
		return ""
	case text[0] == '[':
		return "this is one JSON array, as other tools export it; " + ndjsonExpected + ": jq -c '.[]' makes it so"
	case more && (first == "{" || first == `{"items":[` || first == `{"items": [`):
		return "this is one JSON value over several lines; " + ndjsonExpected + ": jq -c . makes it so"
	case text[0] == '{':
		return ""
	case text[0] == '<':
		return "this is XML or HTML; " + ndjsonExpected
	case strings.ContainsAny(first, ",;\t") && !strings.ContainsAny(first, "{}"):
		return "this is a table (CSV or the like); " + ndjsonExpected + ", such as {\"source\":\"wiki\",\"doc_id\":\"1\",\"error_type\":\"ParseError\"}"
	}
	return fmt.Sprintf("the first line is no JSON object: it begins with %q; %s", cutRunes(first, 30), ndjsonExpected)
}

// utf16Like says that every other byte of a beginning is NUL.
func utf16Like(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	even, odd := 0, 0
	for i, b := range head[:len(head)&^1] {
		if b == 0 && i%2 == 0 {
			even++
		} else if b == 0 {
			odd++
		}
	}
	half := len(head) / 2
	return even > half*3/4 && odd == 0 || odd > half*3/4 && even == 0
}

func cutRunes(s string, most int) string {
	r := []rune(strings.ToValidUTF8(s, "\ufffd"))
	if len(r) <= most {
		return string(r)
	}
	return string(r[:most]) + "…"
}
