package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"dlo/dlq"
	"dlo/web"

	"golang.org/x/term"
)

type userCommand struct {
	Add      userAdd      `cmd:"" help:"Add somebody; the password comes from the terminal or standard input."`
	List     userList     `cmd:"" help:"List everybody."`
	Disable  userDisable  `cmd:"" help:"Keep somebody from signing in, and end their sessions."`
	Enable   userEnable   `cmd:"" help:"Let somebody sign in again."`
	Password userPassword `cmd:"" help:"Give somebody another password."`
	Role     userRole     `cmd:"" help:"Give somebody another role."`
}

// console is who acts in the subcommands: whoever may open the data folder.
func console() dlq.Actor { return dlq.Policy("command line") }

// withStore opens the data folder beside a running server, for one change.
func (f dataFlags) withStore(ctx context.Context, do func(*stores) error) error {
	s, err := f.openExisting(ctx, false) // an older server may be running: only migrate and serve change its schema
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

type userAdd struct {
	dataFlags
	Email  string   `arg:"" help:"Address to sign in with."`
	Role   dlq.Role `required:"" help:"analyst, reviewer, manager, auditor or admin." placeholder:"ROLE"`
	Source []string `help:"Limit them to these sources; everything of another is not there for them." placeholder:"NAME"`
}

func (c userAdd) Run(ctx context.Context) error {
	if !c.Role.Valid() {
		return fmt.Errorf("--role %q: analyst, reviewer, manager, auditor or admin expected", c.Role)
	}
	if !dlq.ValidEmail(c.Email) {
		return fmt.Errorf("%q: an e-mail address expected, and nothing beside it", c.Email)
	}
	hash, err := newPassword(ctx, c.Email)
	if err != nil {
		return err
	}
	add := func(s *stores) error {
		p, err := s.db.AddPerson(ctx, console(), dlq.Person{Email: c.Email, Role: c.Role, Sources: c.Source}, hash)
		if err == nil {
			fmt.Printf("%s can sign in as %s\n", p.Email, p.Role)
		}
		return err
	}
	s, err := c.open(ctx, false, true) // it may come before the first start
	if err != nil {
		return err
	}
	return errors.Join(add(s), s.Close())
}

// newPassword reads a password, checks it and hashes it.
func newPassword(ctx context.Context, email string) (string, error) {
	password, err := readPassword(os.Stdin, os.Stderr)
	if err != nil {
		return "", err
	}
	if err := web.CheckPassword(password, email); err != nil {
		return "", faultSentence(err)
	}
	return web.NewPasswords().Hash(ctx, password)
}

// faultSentence gives an error with the detail of its faults, for a terminal.
func faultSentence(err error) error {
	var e *dlq.Error
	if !errors.As(err, &e) || len(e.Faults) == 0 {
		return err
	}
	var lines []string
	for _, f := range e.Faults {
		lines = append(lines, strings.TrimSpace(f.Pointer+" "+f.Detail))
	}
	return errors.New(e.Message + ": " + strings.Join(lines, "; "))
}

// readPassword asks twice on a terminal, and takes the first line of anything
// else.
func readPassword(in *os.File, prompts io.Writer) (string, error) {
	if !term.IsTerminal(int(in.Fd())) {
		line, err := bufio.NewReader(in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	ask := func(prompt string) (string, error) {
		fmt.Fprint(prompts, prompt)
		b, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(prompts)
		return string(b), err
	}
	first, err := ask("Password (12 characters or more): ")
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	second, err := ask("Once more: ")
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if first != second {
		return "", errors.New("the two passwords differ")
	}
	return first, nil
}

type userList struct{ dataFlags }

func (c userList) Run(ctx context.Context) error {
	return c.withStore(ctx, func(s *stores) error {
		people, err := s.db.People(ctx)
		for _, p := range people {
			state, sources := "", "all sources"
			if p.Disabled {
				state = "  disabled"
			}
			if len(p.Sources) > 0 {
				sources = strings.Join(p.Sources, ", ")
			}
			fmt.Printf("%-32s %-9s %s%s\n", p.Email, p.Role, sources, state)
		}
		return err
	})
}

// changePerson finds somebody by address and changes them.
func (f dataFlags) changePerson(ctx context.Context, email string, change func(*dlq.Person)) error {
	return f.withStore(ctx, func(s *stores) error {
		p, _, found, err := s.db.PersonByEmail(ctx, email)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("nobody has the address %s", email)
		}
		change(&p)
		return s.db.ChangePerson(ctx, console(), p)
	})
}

type userDisable struct {
	dataFlags
	Email string `arg:""`
}

func (c userDisable) Run(ctx context.Context) error {
	return c.changePerson(ctx, c.Email, func(p *dlq.Person) { p.Disabled = true })
}

type userEnable struct {
	dataFlags
	Email string `arg:""`
}

func (c userEnable) Run(ctx context.Context) error {
	return c.changePerson(ctx, c.Email, func(p *dlq.Person) { p.Disabled = false })
}

type userRole struct {
	dataFlags
	Email string   `arg:""`
	Role  dlq.Role `arg:"" help:"analyst, reviewer, manager, auditor or admin."`
}

func (c userRole) Run(ctx context.Context) error {
	if !c.Role.Valid() {
		return fmt.Errorf("%q: analyst, reviewer, manager, auditor or admin expected", c.Role)
	}
	return c.changePerson(ctx, c.Email, func(p *dlq.Person) { p.Role = c.Role })
}

type userPassword struct {
	dataFlags
	Email string `arg:""`
}

func (c userPassword) Run(ctx context.Context) error {
	hash, err := newPassword(ctx, c.Email)
	if err != nil {
		return err
	}
	return c.withStore(ctx, func(s *stores) error {
		p, _, found, err := s.db.PersonByEmail(ctx, c.Email)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("nobody has the address %s", c.Email)
		}
		return s.db.SetPassword(ctx, console(), p.ID, hash, false)
	})
}
