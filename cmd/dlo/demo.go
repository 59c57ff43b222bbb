package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dlo/cmd/samplepipeline/pipeline"
	"dlo/dlq"
	"dlo/web"
)

type demoCommand struct {
	Data   string `help:"Folder to keep the demo in; by default a fresh temporary one, removed at the end." placeholder:"DIR"`
	Listen string `default:"127.0.0.1:8080" help:"Loopback address to listen on; port 0 picks one." placeholder:"HOST:PORT"`
}

// demoPeople are the users that the demo makes: roles, not persons.
var demoPeople = []dlq.Person{
	{Email: "reviewer@example.com", Role: dlq.RoleReviewer},
	{Email: "analyst@example.com", Role: dlq.RoleAnalyst},
	{Email: "manager@example.com", Role: dlq.RoleManager},
}

// Run serves, with the sample pipeline as a child process, so that a parser that
// dies takes no server along.
func (c demoCommand) Run(ctx context.Context) (err error) {
	if c.Data == "" {
		if c.Data, err = os.MkdirTemp("", "dlo-demo-"); err != nil {
			return fmt.Errorf("make the demo's folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.Data)) }()
	}
	log, err := openDemoLog(c.Data)
	if err != nil {
		return err
	}
	defer log.Close()
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil || !isLoopback(host) {
		return fmt.Errorf("--listen %q: the demo listens on a loopback address alone", c.Listen)
	}
	config, err := serveFlags{dataFlags: dataFlags{Data: c.Data}, Listen: c.Listen, MaxPayload: dlq.MaxPayload}.check()
	if err != nil {
		return err
	}
	app, err := openApp(ctx, config, newLog(log))
	if err != nil {
		return err
	}
	passwords, token, err := app.demoAccess(ctx)
	if err != nil {
		return errors.Join(err, app.close())
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- app.run(work) }()
	child, err := app.startPipeline(work, c.Data, token, log)
	if err != nil {
		stop()
		return errors.Join(err, <-served)
	}
	app.announceDemo(os.Stdout, passwords, child.url, c.Data)
	select {
	case err = <-served:
	case childErr := <-child.done:
		if ctx.Err() == nil {
			err = fmt.Errorf("the sample pipeline ended: %w", childErr)
		}
		stop()
		return errors.Join(err, <-served)
	}
	stop()
	<-child.done
	return err
}

func openDemoLog(folder string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("--data %q: %w", folder, err)
	}
	log, err := os.OpenFile(filepath.Join(folder, "demo.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the demo's log: %w", err)
	}
	return log, nil
}

// demoAccess makes the three users and the pipeline's token. In a folder that a
// demo used before, the users get new passwords.
func (a *App) demoAccess(ctx context.Context) (passwords []string, token string, err error) {
	store, hasher, by := a.stores.db, web.NewPasswords(), dlq.Policy("demo")
	for _, p := range demoPeople {
		password := web.GeneratePassword()
		hash, err := hasher.Hash(ctx, password)
		if err != nil {
			return nil, "", err
		}
		have, _, found, err := store.PersonByEmail(ctx, p.Email)
		if err != nil {
			return nil, "", err
		}
		if found {
			err = store.SetPassword(ctx, by, have.ID, hash, false)
		} else {
			_, err = store.AddPerson(ctx, by, p, hash)
		}
		if err != nil {
			return nil, "", err
		}
		passwords = append(passwords, password)
	}
	a.setup = ""
	plain, id, hash := web.NewToken()
	err = store.AddToken(ctx, by, dlq.Token{ID: id, Name: "sample pipeline", Hash: hex.EncodeToString(hash), Scopes: []dlq.Scope{dlq.ScopeIngest, dlq.ScopeOutcome, dlq.ScopeRead}})
	return passwords, plain, err
}

type pipelineProcess struct {
	url  string
	done chan error
}

const pipelineStart = 60 * time.Second // it makes its documents first

// startPipeline starts the sample pipeline as a child of the same binary, waits
// for its address, and applies the policies of its sources.
func (a *App) startPipeline(ctx context.Context, data, token string, log *os.File) (*pipelineProcess, error) {
	secret, err := demoSecret(filepath.Join(data, "pipeline.secret"))
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	options := pipeline.Options{ServerURL: a.base.String(), Token: token, Secrets: []string{secret}, Data: filepath.Join(data, "pipeline"), Listen: "127.0.0.1:0"}
	cmd := exec.CommandContext(ctx, self, "sample-pipeline")
	cmd.Env = append(os.Environ(), options.Environ()...)
	cmd.Stderr = log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the sample pipeline: %w", err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // it ends with this process; see samplePipelineCommand
		return nil, fmt.Errorf("start the sample pipeline: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the sample pipeline: %w", err)
	}
	p := &pipelineProcess{done: make(chan error, 1)}
	address := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		if lines.Scan() {
			address <- strings.TrimPrefix(lines.Text(), "pipeline listening on ")
		}
		_, _ = io.Copy(io.Discard, stdout) // until it ends
		p.done <- cmd.Wait()
	}()
	select {
	case p.url = <-address:
	case err := <-p.done:
		p.done <- err
		return nil, fmt.Errorf("the sample pipeline did not start; see demo.log: %w", err)
	case <-time.After(pipelineStart):
		return nil, errors.New("the sample pipeline did not start in time; see demo.log")
	}
	if err := a.allowOwn(p.url); err != nil {
		return nil, err
	}
	for _, policy := range pipeline.Sources(p.url, secret) {
		if _, _, err := a.stores.db.PutSource(ctx, dlq.Policy("demo"), policy); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// demoSecret reads the secret that signs deliveries to the sample pipeline, or
// makes it.
func demoSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
	secret := "whsec_" + base64.StdEncoding.EncodeToString(raw)
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the pipeline's secret: %w", err)
	}
	return secret, nil
}

func (a *App) announceDemo(w io.Writer, passwords []string, pipelineURL, data string) {
	fmt.Fprintf(w, "listening on http://%s\n\n", a.listener.Addr())
	fmt.Fprintln(w, "Dead Letter Office, with a sample pipeline that fails on real documents.")
	fmt.Fprintln(w, "Sign in as:")
	for i, p := range demoPeople {
		fmt.Fprintf(w, "  %-10s %-22s %s\n", p.Role, p.Email, passwords[i])
	}
	fmt.Fprintf(w, "\nThe sample pipeline: %s\n", pipelineURL)
	fmt.Fprintln(w, "  switch the newer parser on there, or correct a document at its source.")
	fmt.Fprintf(w, "Everything is kept in %s. Stop with Ctrl-C.\n", data)
}

type samplePipelineCommand struct{}

// Run is the sample pipeline as a process of its own. Its options stand in the
// environment, where its parent put them. Its standard input ends when its parent
// does, however that came about, and it ends then too: another demo on the same
// folder must not meet it.
func (samplePipelineCommand) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	options, err := pipeline.OptionsFrom(nil, os.Getenv, os.Stderr)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	options.Worker = []string{self, "sample-pipeline-worker"}
	return pipeline.Run(ctx, options, os.Stdout)
}

type samplePipelineWorkerCommand struct{}

// Run is a worker of the sample pipeline: a process with little memory, which a
// document may kill.
func (samplePipelineWorkerCommand) Run() error { return pipeline.RunWorker(os.Stdin, os.Stdout) }
