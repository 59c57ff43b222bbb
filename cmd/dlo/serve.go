package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"dlo/handlers"

	"golang.org/x/term"
)

type serveCommand struct{ serveFlags }

// Run serves until SIGTERM or an interrupt.
func (c serveCommand) Run(ctx context.Context) error {
	config, err := c.check()
	if err != nil {
		return err
	}
	app, err := openApp(ctx, config, newLog(os.Stderr))
	if err != nil {
		return err
	}
	app.announce(os.Stdout)
	return app.run(ctx)
}

// announce prints the address first, for whoever started the program, and where
// the first person is made if nobody can sign in yet.
func (a *App) announce(w io.Writer) {
	fmt.Fprintf(w, "listening on http://%s\n", a.listener.Addr())
	if a.setup != "" {
		fmt.Fprintf(w, "nobody can sign in yet; open this link once within 15 minutes to make the first user:\n%s\n", a.setup)
	}
}

// newLog logs as text to a terminal, and as JSON to anything else.
func newLog(f *os.File) *slog.Logger {
	if term.IsTerminal(int(f.Fd())) {
		return slog.New(slog.NewTextHandler(f, nil))
	}
	return slog.New(slog.NewJSONHandler(f, nil))
}

const setupLife = 15 * time.Minute

// firstPerson makes a one-use link by which the first person is made, if nobody
// can sign in. There is no account with a password that everybody knows.
func (a *App) firstPerson(ctx context.Context) (string, error) {
	somebody, err := a.stores.db.HasPeople(ctx)
	if err != nil || somebody {
		return "", err
	}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
	link := base64.RawURLEncoding.EncodeToString(raw)
	if err := a.stores.db.PutSetupLink(ctx, handlers.SetupLinkHash(link), setupLife); err != nil {
		return "", err
	}
	return a.base.JoinPath("setup", link).String(), nil
}
