// Package handlers answers requests: a file per screen or API call. Each handler
// reads, calls one verb, shapes what came of it and renders. It returns errors;
// web alone turns one into a status. What takes more than one transaction, or
// speaks to the outside, is a verb's; a change that is one transaction of the
// store is called there, and the store applies the rules of dlq inside it. What a
// page says is decided in the *_model.go files, which know no HTTP.
package handlers

import (
	"context"
	"io"
	"net/url"
	"time"

	"dlo/dlq"
	"dlo/dlq/intake"
	"dlo/dlq/probe"
	"dlo/dlq/redrive"
	"dlo/web"
)

// Handlers is what the handlers share. The exported fields are set once, before
// the first request.
type Handlers struct {
	Store     Store
	Intake    *intake.Intake
	Redrives  *redrive.Planner
	Outcomes  *redrive.Reporter
	Prober    *probe.Prober
	Payloads  Payloads
	Links     PayloadLinks
	Sessions  *web.Sessions
	Passwords *web.Passwords
	Throttle  *web.LoginThrottle
	Assets    *web.Assets
	PublicURL *url.URL // what links say
	Now       func() time.Time
	MaxFetch  int64 // bytes of fetch-and-hash
	OpenAPI   []byte
	Wake      func() // tells the dispatcher that there is work; may be nil
	Live      *Live  // whose streams tell pages what moves; nil: made by Register
	Regroup   func() // tells whoever moves the documents of a split that there is one; may be nil

	readiness readiness
}

// wake tells the dispatcher that there is work, where there is one.
func (h *Handlers) wake() {
	if h.Wake != nil {
		h.Wake()
	}
}

func (h *Handlers) wakeRegroup() {
	if h.Regroup != nil {
		h.Regroup()
	}
}

// Payloads is what handlers read of the payload store.
type Payloads interface {
	Open(ctx context.Context, sha256 string) (io.ReadSeekCloser, int64, error)
	Stat(ctx context.Context, sha256 string) (int64, bool, error)
	Ping(ctx context.Context) error
}

// PayloadLinks checks the short-lived links under which a pipeline fetches a
// stored copy.
type PayloadLinks interface {
	Check(sha256, expires, signature string, now time.Time) error
}

// Store is what handlers read straight from the database, and the changes that
// are one transaction of it: the rule of such a change is in dlq, and holds
// whoever calls.
type Store interface {
	redrive.PreviewStore
	Ping(ctx context.Context) error

	Totals(ctx context.Context, by dlq.Actor) (dlq.Totals, error)
	Cohorts(ctx context.Context, by dlq.Actor, q dlq.CohortQuery, after string, limit int) ([]dlq.Cohort, string, error)
	Cohort(ctx context.Context, by dlq.Actor, id string) (dlq.Cohort, error)
	Fingerprints(ctx context.Context, cohortID string) ([]dlq.Fingerprint, error)
	VersionMonths(ctx context.Context, by dlq.Actor, cohortID string) ([]dlq.VersionMonth, error)
	DailyArrivals(ctx context.Context, by dlq.Actor, cohortID string, days int) ([]int64, error)
	CohortRedrives(ctx context.Context, by dlq.Actor, cohortID string, limit int) ([]dlq.Redrive, error)
	ProofOfEntry(ctx context.Context, by dlq.Actor, c dlq.Cohort, e dlq.Entry) (dlq.Proof, error)
	AssignCohort(ctx context.Context, by dlq.Actor, cohortID, owner, ticket string) error
	SavedViews(ctx context.Context, by dlq.Actor) (own, shared []dlq.SavedView, err error)
	SavedView(ctx context.Context, by dlq.Actor, id string) (dlq.SavedView, error)
	SaveView(ctx context.Context, by dlq.Actor, v dlq.SavedView) (dlq.SavedView, error)
	ChangeView(ctx context.Context, by dlq.Actor, v dlq.SavedView) (dlq.SavedView, error)
	DeleteView(ctx context.Context, by dlq.Actor, id string) error
	SetCohortRunbook(ctx context.Context, by dlq.Actor, cohortID, was, runbook string) error
	Disposed(ctx context.Context, entryID int64, cohortID string) (dlq.Decided, error)
	Dispose(ctx context.Context, by dlq.Actor, dlqID string, n dlq.NewDisposition) error
	DisposeCohort(ctx context.Context, by dlq.Actor, cohortID string, n dlq.NewDisposition) error
	Grouping(ctx context.Context, by dlq.Actor, cohortID string) (dlq.Grouping, error)
	Alike(ctx context.Context, by dlq.Actor, cohortID string, limit int) ([]dlq.Cohort, error)
	MergeCohorts(ctx context.Context, by dlq.Actor, r dlq.MergeRequest) (dlq.GroupingRule, error)
	SplitCohort(ctx context.Context, by dlq.Actor, r dlq.SplitRequest) (dlq.GroupingRule, error)
	UndoGrouping(ctx context.Context, by dlq.Actor, cohortID, ruleID, reason string) (dlq.GroupingRule, error)
	RegroupAttempts(ctx context.Context, entryIDs, members []int64) ([]dlq.RegroupAttempt, error)
	CountedReplays(ctx context.Context, by dlq.Actor, cohortID string, step dlq.VersionStep) ([]dlq.CountedReplay, error)

	Entry(ctx context.Context, by dlq.Actor, dlqID string) (dlq.Entry, error)
	EntryByDoc(ctx context.Context, by dlq.Actor, source, docID string) (dlq.Entry, error)
	Entries(ctx context.Context, by dlq.Actor, q dlq.Query, sort dlq.EntrySort, after string, limit int) ([]dlq.Entry, string, error)
	CountEntries(ctx context.Context, by dlq.Actor, q dlq.Query) (int64, error)
	FilterChoices(ctx context.Context) (dlq.FilterChoices, error)
	Export(ctx context.Context, by dlq.Actor, q dlq.Query, sort dlq.EntrySort, write func([]dlq.ExportedRow) error) (int64, error)
	TextLag(ctx context.Context, limit int) (documents int64, since time.Time, err error)
	TextIsBehind(ctx context.Context, q dlq.Query) error
	QueryValues(ctx context.Context, by dlq.Actor, key, part string, limit int) ([]string, error)
	UnknownValues(ctx context.Context, by dlq.Actor, q dlq.Query) ([]dlq.UnknownValue, error)
	WithoutTerm(ctx context.Context, by dlq.Actor, q dlq.Query) ([]dlq.ExcludingTerm, error)
	Linked(ctx context.Context, by dlq.Actor, e dlq.Entry, limit int) ([]dlq.Entry, error)
	Attempts(ctx context.Context, entryID int64, limit int) ([]dlq.Attempt, error)
	Attempt(ctx context.Context, id int64) (dlq.Attempt, error)
	RedrivesOf(ctx context.Context, entryID int64, limit int) ([]dlq.Redrive, error)
	Notes(ctx context.Context, entryID int64, cohortID string, limit int) ([]dlq.Note, error)
	Note(ctx context.Context, by dlq.Actor, dlqID, cohortID, body string) error
	Act(ctx context.Context, by dlq.Actor, dlqID string, a dlq.Action) error
	Assign(ctx context.Context, by dlq.Actor, dlqID, owner, ticket string) error
	SaveProbe(ctx context.Context, entryID, attemptID int64, said dlq.SourceNow, reading dlq.Evidence) error
	LastReadings(ctx context.Context, entries []dlq.Entry) (map[int64]dlq.Evidence, error)
	LastProbe(ctx context.Context, e dlq.Entry) (dlq.SourceNow, dlq.Evidence, bool, error)
	MarkPayloadCorrupt(ctx context.Context, entryID int64) error

	Operation(ctx context.Context, id string) (dlq.Operation, error)
	SeesOperation(ctx context.Context, by dlq.Actor, o dlq.Operation) (bool, error)
	Operations(ctx context.Context, before string, limit int) ([]dlq.Operation, error)
	OpenOperations(ctx context.Context) ([]dlq.Operation, error)
	Items(ctx context.Context, operationID string, state dlq.ItemState, outcome dlq.OutcomeResult, after int64, limit int) ([]dlq.Item, error)
	ItemsOfStep(ctx context.Context, operationID string, step int, state dlq.ItemState, outcome dlq.OutcomeResult, after int64, limit int) ([]dlq.Item, error)
	ReplayTallies(ctx context.Context, by dlq.Actor, cohorts []string) (map[string][]dlq.ReplayTally, error)
	LeftOutCounts(ctx context.Context, operationID string) (map[dlq.LeftOut]int64, error)
	OutcomeCounts(ctx context.Context, operationID string) (map[dlq.OutcomeResult]int64, error)
	ReadingCounts(ctx context.Context, operationID string) (map[dlq.Reading]int64, error)
	OperationSteps(ctx context.Context, id string) ([]dlq.OperationStep, error)
	OperationOfCohort(ctx context.Context, cohortID string) (dlq.Operation, bool, error)
	CohortProofs(ctx context.Context, by dlq.Actor, cohorts []dlq.Cohort) (map[string]dlq.CohortProof, error)
	MoveOperation(ctx context.Context, by dlq.Actor, id string, to dlq.OperationState, why string) (dlq.Operation, error)

	Source(ctx context.Context, name string) (dlq.Source, error)
	Sources(ctx context.Context) ([]dlq.Source, error)
	PutSource(ctx context.Context, by dlq.Actor, p dlq.SourcePolicy) (dlq.Source, bool, error)
	IndexChecked(ctx context.Context, entryID int64) (dlq.IndexChecked, bool, error)
	UnplacedOutcomes(ctx context.Context, by dlq.Actor, source string, limit int) ([]dlq.UnplacedOutcome, bool, error)
	EndOverlap(ctx context.Context, by dlq.Actor, name, reason string) (bool, error)
	PauseSource(ctx context.Context, by dlq.Actor, name string, paused bool, reason string) (bool, error)
	PauseAll(ctx context.Context, by dlq.Actor, paused bool, reason string) error
	Paused(ctx context.Context) (string, error)
	Running(ctx context.Context, sourceID int64) (dlq.Running, error)
	RunningIn(ctx context.Context, by dlq.Actor) (map[string]dlq.Running, error)
	Deploy(ctx context.Context, by dlq.Actor, source string, r dlq.DeploymentReport) (dlq.Running, bool, error)
	DeploymentHistory(ctx context.Context, sourceID int64, after string, limit int) ([]dlq.Deployment, string, error)
	RunningDeployments(ctx context.Context, sourceID int64) ([]dlq.Deployment, error)
	DeploymentsBetween(ctx context.Context, sourceID int64, from, to time.Time, limit int) ([]dlq.Deployment, error)
	RegisteredSince(ctx context.Context, sourceID int64) (time.Time, error)
	SeenVersions(ctx context.Context, sourceID int64, limit int) ([]dlq.SeenVersion, error)
	KnownVersions(ctx context.Context, by dlq.Actor, cohortID string, limit int) ([]dlq.SeenVersion, error)
	Places(ctx context.Context, by dlq.Actor, cohortID string, ends int) ([]dlq.SourcePlaces, error)
	VersionReport(ctx context.Context, by dlq.Actor, q dlq.VersionReportQuery, limit int) ([]dlq.VersionReportCell, bool, error)
	RedriveReport(ctx context.Context, by dlq.Actor, q dlq.RedriveReportQuery, limit int) (rows []dlq.RedriveReportRow, more bool, err error)
	DeclareFix(ctx context.Context, by dlq.Actor, cohortID string, d dlq.FixDeclaration) (string, bool, error)
	WithdrawFix(ctx context.Context, by dlq.Actor, cohortID, fixID, why string) error
	Fixes(ctx context.Context, by dlq.Actor, cohortIDs []string) (map[string][]dlq.Fix, error)
	FixProposals(ctx context.Context, by dlq.Actor, source, component, version string) ([]dlq.FixProposal, bool, error)
	Deployments(ctx context.Context, sourceID int64, since int64, limit int) ([]dlq.Deployment, error)
	Rejected(ctx context.Context, source string, limit int) ([]dlq.RejectedEnvelope, error)
	CountRejected(ctx context.Context, source string) (int64, error)

	CountCohorts(ctx context.Context, by dlq.Actor, q dlq.CohortQuery) (cohorts, documents int64, err error)
	Look(ctx context.Context, personID string) (dlq.Look, error)
	Seen(ctx context.Context, personID string, until time.Time) error
	StoppedSince(ctx context.Context, since time.Time) (list []dlq.Operation, more bool, err error)
	AlertsSince(ctx context.Context, by dlq.Actor, since time.Time) (int64, error)

	Alerts(ctx context.Context, by dlq.Actor, limit int) ([]dlq.Alert, error)
	Alert(ctx context.Context, id string) (dlq.Alert, error)
	StandingAlerts(ctx context.Context, by dlq.Actor) (int64, error)
	AcknowledgeAlert(ctx context.Context, by dlq.Actor, id string) error

	Audit(ctx context.Context, by dlq.Actor, action string, entry *dlq.Entry, source string, detail map[string]any) error
	AuditTrail(ctx context.Context, before int64, limit int) ([]dlq.AuditRow, error)
	AuditOfEntry(ctx context.Context, entryID int64, limit int) ([]dlq.AuditRow, error)
	AuditOfCohort(ctx context.Context, cohortID string, limit int) ([]dlq.AuditRow, error)

	HasPeople(ctx context.Context) (bool, error)
	People(ctx context.Context) ([]dlq.Person, error)
	Person(ctx context.Context, id string) (dlq.Person, bool, error)
	PersonByEmail(ctx context.Context, email string) (dlq.Person, string, bool, error)
	AddPerson(ctx context.Context, by dlq.Actor, p dlq.Person, hash string) (dlq.Person, error)
	ChangePerson(ctx context.Context, by dlq.Actor, p dlq.Person) error
	SetPassword(ctx context.Context, by dlq.Actor, personID, hash string, rehash bool) error
	SetupLinkState(ctx context.Context, hash string) error
	SetUp(ctx context.Context, linkHash string, p dlq.Person, passwordHash string) (dlq.Person, error)
	Tokens(ctx context.Context) ([]dlq.Token, error)
	AddToken(ctx context.Context, by dlq.Actor, t dlq.Token) error
	RevokeToken(ctx context.Context, by dlq.Actor, idOrName string) error
}
