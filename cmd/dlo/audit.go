package main

import (
	"context"
	"fmt"
)

type auditCommand struct {
	Head   auditHead   `cmd:"" help:"Print the newest row's number and hash."`
	Verify auditVerify `cmd:"" help:"Verify the chain from its first row."`
}

type auditHead struct{ dataFlags }

func (c auditHead) Run(ctx context.Context) error {
	return c.withStore(ctx, func(s *stores) error {
		head, err := s.db.AuditHead(ctx)
		if err == nil {
			fmt.Printf("%d %s\n", head.Seq, head.Hash)
		}
		return err
	})
}

type auditVerify struct{ dataFlags }

func (c auditVerify) Run(ctx context.Context) error {
	return c.withStore(ctx, func(s *stores) error {
		rows, fault, err := s.db.VerifyAudit(ctx)
		if err != nil {
			return err
		}
		if fault != "" {
			fmt.Println("fault: " + fault)
			return errFaults
		}
		fmt.Printf("%d rows follow from one another\n", rows)
		return nil
	})
}
