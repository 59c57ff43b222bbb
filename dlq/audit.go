package dlq

import "time"

// AuditRow is one row of the audit trail: who did what, to what. The detail is
// JSON of identity and counts, never a document's content.
type AuditRow struct {
	Seq         int64 // from 1, without gaps
	At          time.Time
	ActorKind   ActorKind
	ActorID     string
	ActorName   string
	Action      string
	EntryID     int64
	DLQID       string
	CohortID    string
	OperationID string
	Source      string
	Detail      string
	Hash        string // covers the row before it
	Reason      string // typed by the person; beside the chain, because it can be erased
}

// Token is what a program signs its calls with: only its hash is kept.
type Token struct {
	ID        string
	Name      string
	Hash      string // SHA-256 of the whole token, hex
	Scopes    []Scope
	Source    string // bound to one source; empty: all
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time
	UsedAt    time.Time
	RevokedAt time.Time
}
