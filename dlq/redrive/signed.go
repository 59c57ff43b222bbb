package redrive

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"dlo/dlq"
)

// errUnsigned is the one answer to every signed report that is not proven,
// whatever is wrong: it tells nobody which redrives there are.
func errUnsigned() error {
	return dlq.Errorf(dlq.KindUnauthenticated, "The report's signature is not valid for the redrive that it names. Sign it with the secret of its source, within five minutes, or send a token.")
}

// Signed takes a report that is signed with the secret of its redrive's source
// in place of a token. It answers who reports, bound to that source alone, and
// the time that was signed.
//
// A report that is sent again is settled as the one before it, so ids are not
// remembered. A delivery of ours, which has the same signature, is no report: it
// has no result.
func (r *Reporter) Signed(ctx context.Context, h http.Header, body []byte) (dlq.Actor, time.Time, error) {
	fields, err := dlq.DecodeObject(body)
	if err != nil {
		return dlq.Actor{}, time.Time{}, err
	}
	id, _ := fields["redrive_id"].(string)
	source, secrets, err := r.secretsOf(ctx, id)
	if err != nil {
		return dlq.Actor{}, time.Time{}, err
	}
	at, err := dlq.CheckSignature(h, body, secrets, r.Clock())
	if err != nil || source == "" {
		return dlq.Actor{}, time.Time{}, errUnsigned()
	}
	return dlq.Actor{Kind: dlq.ActorToken, ID: "signature", Name: "signed report", Scopes: []dlq.Scope{dlq.ScopeOutcome}, Sources: []string{source}}, at, nil
}

// secretsOf are the secrets of a redrive's source. Where there is no such
// redrive, or the source is unsigned, they are one that nobody knows, so that
// the answer takes its time all the same.
func (r *Reporter) secretsOf(ctx context.Context, redriveID string) (string, []string, error) {
	nobody := []string{"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
	if redriveID == "" {
		return "", nobody, nil
	}
	redriven, err := r.Store.Redrive(ctx, redriveID)
	if dlq.KindOf(err) == dlq.KindNotFound {
		return "", nobody, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("find the redrive of a signed report: %w", err)
	}
	secrets, err := r.Store.RedriveSecrets(ctx, redriven.Source)
	if err != nil {
		return "", nil, errors.Join(errUnsigned(), err)
	}
	if len(secrets) == 0 {
		return "", nobody, nil
	}
	return redriven.Source, secrets, nil
}
