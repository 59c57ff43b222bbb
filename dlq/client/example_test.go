package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"dlo/dlq"
	"dlo/dlq/client"
)

// A consumer of a queue asks the guard about every delivery, and does to the
// message what it answers.
func ExampleGuard() {
	office := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"dlq_id":"01J9Z3","status":"parked","created":true}`)
	}))
	defer office.Close()
	dlo, err := client.New(client.Config{URL: office.URL, Token: "from dlo token create"})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Tries in a folder, because a worker that dies takes its memory along:
	// client.NewFileTries("/var/lib/intake/tries").
	guard := &client.Guard{Client: dlo, Limit: 64 << 20}

	receive := func(deliveries int, process func(context.Context, *client.Attempt) error) {
		head := func(context.Context) (int64, error) { return 18_000, nil } // the Content-Length of a HEAD
		d := client.Delivery{ID: "msg-1", ReceiveCount: deliveries, Source: "leases", DocID: "LS-2104",
			Envelope: dlq.Envelope{ParserVersion: "pdfminer.six@20251230"}}
		decision := guard.Handle(context.Background(), d, head, process)
		switch {
		case decision.Acknowledge():
			fmt.Println("delete the message:", decision.Do)
		default:
			fmt.Println("leave the message for later, its delay is set:", decision.After > 0)
		}
	}

	receive(1, func(context.Context, *client.Attempt) error { return nil })
	receive(1, func(context.Context, *client.Attempt) error {
		return client.Transient(errors.New("the source answers 503"))
	})
	receive(1, func(_ context.Context, a *client.Attempt) error {
		a.Open = client.Bytes([]byte("%PDF-1.7 …")) // parked with the dead letter
		return fmt.Errorf("open the lease: %w", client.Encrypted(errors.New("a password is needed")))
	})
	// Output:
	// delete the message: done
	// leave the message for later, its delay is set: true
	// delete the message: parked
}
