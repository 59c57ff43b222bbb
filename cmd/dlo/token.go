package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/web"
)

type tokenCommand struct {
	Create tokenCreate `cmd:"" help:"Create a token; it is printed once, alone on the last line."`
	List   tokenList   `cmd:"" help:"List every token, without the tokens themselves."`
	Revoke tokenRevoke `cmd:"" help:"End a token, by its id or its name."`
}

type tokenCreate struct {
	dataFlags
	Name    string       `arg:"" help:"What it is for."`
	Scope   []dlq.Scope  `required:"" help:"ingest, outcome, read, act, admin; several with commas." placeholder:"SCOPES"`
	Source  string       `help:"Bind it to one source." placeholder:"NAME"`
	Expires dlq.Duration `help:"End it after a span, such as 90d; by default it does not end." placeholder:"SPAN"`
}

func (c tokenCreate) Run(ctx context.Context) error {
	for _, s := range c.Scope {
		if !s.Valid() {
			return fmt.Errorf("--scope %q: ingest, outcome, read, act or admin expected", s)
		}
	}
	if c.Source != "" && !dlq.ValidSourceName(c.Source) {
		return fmt.Errorf("--source %q: 1 to 128 characters without control characters expected", c.Source)
	}
	plain, id, hash := web.NewToken()
	t := dlq.Token{ID: id, Name: c.Name, Hash: hex.EncodeToString(hash), Scopes: c.Scope, Source: c.Source}
	if c.Expires != dlq.Forever {
		t.ExpiresAt = time.Now().Add(c.Expires.Std())
	}
	return c.withStore(ctx, func(s *stores) error {
		if err := s.db.AddToken(ctx, console(), t); err != nil {
			return err
		}
		fmt.Println(plain)
		return nil
	})
}

type tokenList struct{ dataFlags }

func (c tokenList) Run(ctx context.Context) error {
	return c.withStore(ctx, func(s *stores) error {
		tokens, err := s.db.Tokens(ctx)
		for _, t := range tokens {
			scopes := make([]string, len(t.Scopes))
			for i, scope := range t.Scopes {
				scopes[i] = string(scope)
			}
			state := "never used"
			switch {
			case !t.RevokedAt.IsZero():
				state = "revoked " + t.RevokedAt.Format(time.DateOnly)
			case !t.UsedAt.IsZero():
				state = "used " + t.UsedAt.Format(time.DateOnly)
			}
			source := t.Source
			if source == "" {
				source = "all sources"
			}
			fmt.Printf("%-18s %-24s %-32s %-16s %s\n", t.ID, t.Name, strings.Join(scopes, ","), source, state)
		}
		return err
	})
}

type tokenRevoke struct {
	dataFlags
	Token string `arg:"" help:"Its id, or a name that only one token has."`
}

func (c tokenRevoke) Run(ctx context.Context) error {
	return c.withStore(ctx, func(s *stores) error { return s.db.RevokeToken(ctx, console(), c.Token) })
}
