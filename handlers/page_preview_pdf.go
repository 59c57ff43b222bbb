package handlers

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// Limits of showing a PDF. Nothing here reads the document: the browser draws
// it, and the server only makes sure that it is handed to a viewer of PDF and to
// nothing else.
const (
	pdfMost     = 32 << 20 // bytes; larger ones are downloaded
	pdfMarkIn   = 1 << 10  // bytes in which readers look for the mark; ISO 32000-1 puts it first, files in the wild do not
	pdfLinkTime = time.Minute
)

// pdfMark is what a PDF begins with.
var pdfMark = []byte("%PDF-")

// holdsPDF says whether the mark stands where readers look for it.
func holdsPDF(head []byte) bool {
	return bytes.Contains(head[:min(len(head), pdfMarkIn)], pdfMark)
}

// pdfKey signs the addresses of PDFs. It is the process's own, because they live
// for a minute: a restart costs whoever looks just then one reload.
var pdfKey = func() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
}()

// pdfLink is what the address of a PDF's frame opens: these bytes of this
// document, for this person, for a minute. The address works without a cookie,
// so that the frame can be loaded without any; a script inside the PDF can read
// it, and learns from it nothing but the way to itself.
type pdfLink struct {
	dlqID    string
	digest   string
	personID string
	until    string // Unix seconds
}

func newPDFLink(e dlq.Entry, by dlq.Actor, now time.Time) pdfLink {
	return pdfLink{dlqID: e.DLQID, digest: e.HeldSHA256, personID: by.ID, until: strconv.FormatInt(now.Add(pdfLinkTime).Unix(), 10)}
}

func (l pdfLink) href() string {
	query := url.Values{"sha256": {l.digest}, "person": {l.personID}, "expires": {l.until}, "signature": {l.signature()}}
	return entryHref(l.dlqID) + "/preview/pdf?" + query.Encode()
}

func (l pdfLink) signature() string {
	mac := hmac.New(sha256.New, pdfKey)
	mac.Write([]byte(strings.Join([]string{"preview pdf", l.dlqID, l.digest, l.personID, l.until}, "\x00")))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// check refuses a link that was not made here, or whose minute is over.
func (l pdfLink) check(signature string, now time.Time) error {
	if !hmac.Equal([]byte(signature), []byte(l.signature())) {
		return dlq.Errorf(dlq.KindForbidden, "this address does not open this document")
	}
	until, err := strconv.ParseInt(l.until, 10, 64)
	if err != nil || now.Unix() >= until {
		return dlq.Errorf(dlq.KindGone, "this address was for a minute; load the document's page again")
	}
	return nil
}

// entryPDF is GET /entries/{id}/preview/pdf: the stored copy for the browser's
// own viewer. No session stands behind it and no cookie is looked at; the link
// names the person, who is judged anew, so that a role taken away counts at once
// and the audit trail knows who looked.
func (h *Handlers) entryPDF(c echo.Context) error {
	ctx := c.Request().Context()
	link := pdfLink{dlqID: c.Param("id"), digest: c.QueryParam("sha256"), personID: c.QueryParam("person"), until: c.QueryParam("expires")}
	if err := link.check(c.QueryParam("signature"), h.Now()); err != nil {
		return err
	}
	person, found, err := h.Store.Person(ctx, link.personID)
	if err != nil {
		return err
	}
	by := person.Actor()
	if !found || person.Disabled || !by.May(dlq.MayPreview) {
		return dlq.Errorf(dlq.KindForbidden, "whom this address was made for may no longer see documents")
	}
	e, err := h.Store.Entry(ctx, by, link.dlqID)
	if err != nil {
		return err
	}
	if e.HeldSHA256 != link.digest {
		return dlq.Errorf(dlq.KindGone, "another copy has come since; load the document's page again")
	}
	r, size, err := h.openStoredCopy(ctx, e)
	if err != nil {
		return err
	}
	defer r.Close()
	head, err := io.ReadAll(io.LimitReader(r, previewBytes))
	if err != nil {
		return fmt.Errorf("read the stored copy of %s: %w", e.DLQID, err)
	}
	switch {
	case sniff(head, "", "").format != formatPDF:
		return dlq.Errorf(dlq.KindNotFound, "the stored copy is not a PDF")
	case size > pdfMost:
		return dlq.Errorf(dlq.KindTooLarge, "a PDF of more than %s is not shown; download it", byteSize(pdfMost))
	}
	if err := h.Store.Audit(ctx, by, "payload.viewed", &e, e.Source, map[string]any{"sha256": e.HeldSHA256, "as": "pdf"}); err != nil {
		return err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewind the stored copy of %s: %w", e.DLQID, err)
	}
	if err := web.ExtendDeadlines(c, 0, uploadTime); err != nil {
		return err
	}
	web.PDFFrame(c, e.HeldSHA256[:16])
	c.Response().Header().Set("Content-Length", strconv.FormatInt(size, 10))
	c.Response().WriteHeader(http.StatusOK)
	_, err = io.Copy(c.Response(), r)
	return err
}
