package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"dlo/dlq"
)

const (
	consumerOffice = "DLO_TEST_CONSUMER_OFFICE" // its presence makes the test binary a consumer
	consumerTries  = "DLO_TEST_CONSUMER_TRIES"
	consumerCount  = "DLO_TEST_CONSUMER_COUNT"
)

// TestConsumerProcess is no test of its own: it is the consumer that
// TestTwoKilledConsumersPoisonADocumentAndOneThatWaitedDoesNot starts and kills.
func TestConsumerProcess(t *testing.T) {
	office := os.Getenv(consumerOffice)
	if office == "" {
		t.Skip("started by another test")
	}
	c, err := New(Config{URL: office, Retry: Retry{Budget: -1}})
	if err != nil {
		t.Fatal(err)
	}
	tries, err := NewFileTries(os.Getenv(consumerTries))
	if err != nil {
		t.Fatal(err)
	}
	count, err := strconv.Atoi(os.Getenv(consumerCount))
	if err != nil {
		t.Fatal(err)
	}
	guard := &Guard{Client: c, Tries: tries}
	decision := guard.Handle(context.Background(), Delivery{ID: "m1", ReceiveCount: count, Source: "rent-rolls", DocID: "RR-1"}, nil, func(context.Context, *Attempt) error {
		if count == 1 {
			return Transient(errors.New("the source answers 503"))
		}
		fmt.Println("\nworking")
		select {} // until it is killed
	})
	fmt.Printf("\nanswer %s %s\n", decision.Do, decision.Class)
}

func TestTwoKilledConsumersPoisonADocumentAndOneThatWaitedDoesNot(t *testing.T) {
	o := newOffice(t)
	tries := t.TempDir()
	deliver := func(count int) (answer string) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestConsumerProcess$")
		cmd.Env = append(os.Environ(), consumerOffice+"="+o.URL, consumerTries+"="+tries, consumerCount+"="+strconv.Itoa(count))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for answer == "" && lines.Scan() {
			switch line := lines.Text(); {
			case line == "working":
				answer = "killed"
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			case strings.HasPrefix(line, "answer "):
				answer = strings.TrimPrefix(line, "answer ")
			}
		}
		for lines.Scan() { // to its end
		}
		_ = cmd.Wait() // one that was killed does not end well
		return answer
	}
	for i, want := range []string{"redeliver transient", "killed", "killed", "parked resource_fatal"} {
		if got := deliver(i + 1); got != want {
			t.Fatalf("delivery %d: %q, want %q", i+1, got, want)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.entries["rent-rolls/RR-1"]
	if e.ErrorClass != string(dlq.ClassResourceFatal) || e.ErrorMessage != "two deliveries ended without an answer" || e.StackTrace != "" || *e.Attempts != 3 {
		t.Errorf("parked %+v", e)
	}
}
