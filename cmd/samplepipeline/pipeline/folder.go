package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// folder is where the documents lie: a folder a source, a file a document. It
// plays the systems that the documents come from, so people may change, add and
// delete files in it.
type folder struct {
	dir string
	now func() time.Time

	mu   sync.Mutex          // guards writes, so that an edit is whole
	plan map[string]Document // what was made, by source/doc_id
}

// file is one document as its source holds it now.
type file struct {
	Source   string
	ID       string
	Filename string
	Bytes    []byte
	Size     int64 // in bytes; they may have been let go of
	SHA256   string
	Modified time.Time
}

const planName = "plan.json"

// errGone says that the source has no such document.
var errGone = fmt.Errorf("the source has no such document: %w", fs.ErrNotExist)

// openFolder opens the documents. The first time it makes them all, with their
// faults, as of now; what people changed since then stays changed.
func openFolder(dir string, seed uint64, now func() time.Time) (*folder, error) {
	f := &folder{dir: dir, now: now, plan: map[string]Document{}}
	var docs []Document
	written, err := os.ReadFile(filepath.Join(dir, planName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		docs = planDocuments(seed, now())
		err = f.make(docs)
	case err == nil:
		err = json.Unmarshal(written, &docs)
	}
	if err != nil {
		return nil, fmt.Errorf("open the documents in %s: %w", dir, err)
	}
	for _, doc := range docs {
		f.plan[doc.Source+"/"+doc.ID] = doc
	}
	return f, nil
}

// make writes every document, and the plan last: a making that broke off is
// done again.
func (f *folder) make(docs []Document) error {
	for _, source := range sourceNames {
		if err := os.MkdirAll(filepath.Join(f.dir, source), 0o755); err != nil {
			return err
		}
	}
	for _, doc := range docs {
		raw, err := doc.content()
		if err != nil {
			return err
		}
		if err := f.write(doc.Source, doc.Filename, raw, doc.First.Add(-3*time.Minute)); err != nil {
			return err
		}
	}
	plan, err := json.MarshalIndent(docs, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.dir, planName), plan, 0o644)
}

// write replaces a document as a whole and sets when it was modified.
func (f *folder) write(source, filename string, raw []byte, modified time.Time) error {
	path := filepath.Join(f.dir, source, filename)
	half := filepath.Join(f.dir, source, "."+filename+".part")
	if err := os.WriteFile(half, raw, 0o644); err != nil {
		return err
	}
	if err := os.Chtimes(half, modified, modified); err != nil {
		return err
	}
	return os.Rename(half, path)
}

// read gives a document as it is now, and errGone if there is none.
func (f *folder) read(source, id string) (file, error) {
	if !slices.Contains(sourceNames, source) || id != filepath.Base(id) || strings.HasPrefix(id, ".") || strings.ContainsAny(id, `/\`) {
		return file{}, errGone
	}
	name := id + series[source].extension
	path := filepath.Join(f.dir, source, name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !info.Mode().IsRegular()) {
		return file{}, errGone
	}
	if err != nil {
		return file{}, fmt.Errorf("read document %s/%s: %w", source, id, err)
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file{}, errGone
	}
	if err != nil {
		return file{}, fmt.Errorf("read document %s/%s: %w", source, id, err)
	}
	return file{Source: source, ID: id, Filename: name, Bytes: raw, Size: int64(len(raw)), SHA256: digestOf(raw), Modified: info.ModTime()}, nil
}

// list gives the ids of a source's documents, in the order in which they came.
func (f *folder) list(source string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(f.dir, source))
	if err != nil {
		return nil, fmt.Errorf("list the documents of %s: %w", source, err)
	}
	var ids []string
	for _, entry := range entries {
		if id, ok := docIDOf(source, entry.Name()); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// planned gives what is known of a document's making; false for one that
// somebody put into the folder.
func (f *folder) planned(source, id string) (Document, bool) {
	doc, ok := f.plan[source+"/"+id]
	return doc, ok
}

// correct writes the document as its owner would have it, and gives it as it is
// now. Correcting twice leaves the same bytes under a newer date.
func (f *folder) correct(source, id string) (file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.read(source, id); err != nil {
		return file{}, err
	}
	doc, ok := f.planned(source, id)
	if !ok {
		return file{}, &badRequest{fmt.Errorf("document %s/%s was put here by somebody: edit the file itself", source, id)}
	}
	raw, err := doc.corrected()
	if err != nil {
		return file{}, err
	}
	if err := f.write(source, doc.Filename, raw, f.now()); err != nil {
		return file{}, fmt.Errorf("correct document %s/%s: %w", source, id, err)
	}
	return f.read(source, id)
}

// remove deletes a document from its source.
func (f *folder) remove(source, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	doc, err := f.read(source, id)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(f.dir, source, doc.Filename)); err != nil {
		return fmt.Errorf("delete document %s/%s: %w", source, id, err)
	}
	return nil
}

// etag gives the entity tag that the document's source sends: strong and of the
// content for leases and change orders, weak and of size and date for rent rolls,
// none for submittals (RFC 9110 §8.8.3).
func (d file) etag() string {
	switch d.Source {
	case sourceLeases, sourceChangeOrders:
		return `"` + d.SHA256[:20] + `"`
	case sourceRentRolls:
		return fmt.Sprintf(`W/"%x-%x"`, d.Size, d.Modified.UnixMilli())
	}
	return ""
}

// version gives the validator that the pipeline keeps as source_version: the
// entity tag or, where the source sends none, the date of the last change.
func (d file) version() string {
	if tag := d.etag(); tag != "" {
		return tag
	}
	return d.Modified.UTC().Format(http.TimeFormat)
}

// serveDocument answers GET and HEAD for a document with its validators, ranges
// and conditions, as its source would.
func (f *folder) serveDocument(w http.ResponseWriter, r *http.Request) {
	doc, err := f.read(r.PathValue("source"), r.PathValue("doc_id"))
	if errors.Is(err, fs.ErrNotExist) {
		http.Error(w, "no such document", http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, "the document cannot be read", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType(doc.Source))
	h.Set("Content-Disposition", `attachment; filename="`+strings.ReplaceAll(doc.Filename, `"`, "")+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	if tag := doc.etag(); tag != "" {
		h.Set("ETag", tag)
	}
	http.ServeContent(w, r, "", doc.Modified, bytes.NewReader(doc.Bytes))
}

func digestOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
