package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"dlo/dlq"

	"gopkg.in/yaml.v3"
)

type sourceCommand struct {
	Apply sourceApply `cmd:"" help:"Replace the policy of each source in a YAML file."`
	List  sourceList  `cmd:"" help:"List every source."`
	Show  sourceShow  `cmd:"" help:"Print a source's policy as YAML, without its secrets."`
}

type sourceApply struct {
	dataFlags
	File string `arg:"" help:"YAML, one document a source; - is standard input."`
}

// Run reads every document before it changes anything.
func (c sourceApply) Run(ctx context.Context) error {
	in := os.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	policies, err := readPolicies(in)
	if err != nil {
		return faultSentence(err)
	}
	return c.withStore(ctx, func(s *stores) error {
		for _, p := range policies {
			_, created, err := s.db.PutSource(ctx, console(), p)
			if err != nil {
				return err
			}
			done := "replaced"
			if created {
				done = "created"
			}
			fmt.Printf("%s %s\n", done, p.Name)
		}
		return nil
	})
}

// readPolicies reads YAML by way of JSON, so that both have the same names,
// faults and defaults.
func readPolicies(r io.Reader) ([]dlq.SourcePolicy, error) {
	decoder := yaml.NewDecoder(r)
	var out []dlq.SourcePolicy
	for n := 1; ; n++ {
		var document map[string]any
		err := decoder.Decode(&document)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if document == nil {
			continue
		}
		body, err := json.Marshal(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		name, _ := document["name"].(string)
		if name == "" {
			return nil, fmt.Errorf("document %d: a name expected", n)
		}
		p, err := dlq.ParsePolicy(name, body)
		if err != nil {
			return nil, fmt.Errorf("document %d (%s): %w", n, name, faultSentence(err))
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no source was found in it")
	}
	return out, nil
}

type sourceList struct{ dataFlags }

func (c sourceList) Run(ctx context.Context) error {
	return c.withStore(ctx, func(s *stores) error {
		sources, err := s.db.Sources(ctx)
		for _, src := range sources {
			target := src.Policy.Redrive.URL
			if target == "" {
				target = "no redrive target"
			}
			fmt.Printf("%-24s %-32s %s\n", src.Name(), src.Policy.Owner, target)
		}
		return err
	})
}

type sourceShow struct {
	dataFlags
	Name string `arg:""`
}

func (c sourceShow) Run(ctx context.Context) error {
	return c.withStore(ctx, func(s *stores) error {
		src, err := s.db.Source(ctx, c.Name)
		if err != nil {
			return err
		}
		b, err := json.Marshal(src.Policy)
		if err != nil {
			return err
		}
		var document any
		if err := yaml.Unmarshal(b, &document); err != nil { // JSON is YAML
			return err
		}
		out := yaml.NewEncoder(os.Stdout)
		out.SetIndent(2)
		if err := out.Encode(document); err != nil {
			return err
		}
		return out.Close()
	})
}
