package db

import (
	"context"
	"fmt"
)

// EndLeases ends the leases on deliveries that a server left when it was killed,
// and answers how many there were: what it had claimed is due at once, and a cancel
// need not wait for somebody who is gone. It is called before the server begins to
// work, by whoever alone serves from this database. Should the one before be alive
// after all, its epoch keeps it from recording anything of what is claimed anew.
func (s *Store) EndLeases(ctx context.Context) (n int64, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		n, err = tx.exec(`update redrive set lease_until = $1 where state in ('pending', 'claimed', 'delivered') and state = 'claimed' and lease_until > $1`, ms(tx.now))
		if err != nil {
			return fmt.Errorf("end the leases of a server that is gone: %w", err)
		}
		return nil
	})
	return n, err
}
