package dlq

import (
	"net/mail"
	"slices"
	"strings"
	"unicode"
)

// Role is what a person may be. Each person has one.
type Role string

// The five roles.
const (
	RoleAnalyst  Role = "analyst"  // looks, notes, assigns
	RoleReviewer Role = "reviewer" // decides the fate of entries and cohorts
	RoleManager  Role = "manager"  // reports, policies, pauses
	RoleAuditor  Role = "auditor"  // reads everything, changes nothing
	RoleAdmin    Role = "admin"    // everything, users and tokens included
)

// Roles lists every role in the order in which screens offer them.
var Roles = []Role{RoleAnalyst, RoleReviewer, RoleManager, RoleAuditor, RoleAdmin}

// Valid says whether the role is one of Roles.
func (r Role) Valid() bool { return slices.Contains(Roles, r) }

// Scope is what a token may be for.
type Scope string

// The scopes of a token.
const (
	ScopeIngest  Scope = "ingest"  // parks and looks up
	ScopeOutcome Scope = "outcome" // reports outcomes, deployments, census
	ScopeRead    Scope = "read"    // reads all but audit
	ScopeAct     Scope = "act"     // does what a reviewer does
	ScopeAdmin   Scope = "admin"   // the rest, audit and erasure included
)

// Scopes lists every scope.
var Scopes = []Scope{ScopeIngest, ScopeOutcome, ScopeRead, ScopeAct, ScopeAdmin}

// Valid says whether the scope is one of Scopes.
func (s Scope) Valid() bool { return slices.Contains(Scopes, s) }

// Permission is one thing that a person or a token may be allowed to do.
// What is not listed in the tables below is denied.
type Permission string

// The permissions, as rows of the table of who may do what.
const (
	MaySee             Permission = "see"               // lists, entries, evidence, reports
	MayPreview         Permission = "preview"           // the stored copy on a page
	MayDownload        Permission = "download"          // the stored copy as a file
	MayNote            Permission = "note"              // note, assign, disposition, ticket, saved view
	MayDecide          Permission = "decide"            // redrive, quarantine, release, extend, archive, restore, fix, merge, split
	MayPause           Permission = "pause"             // pause all redrives, circuits, acknowledge an alert
	MayEditRunbook     Permission = "edit_runbook"      //
	MayExport          Permission = "export"            // export, case file
	MaySetPolicy       Permission = "set_policy"        // source policy, targets, alert rules
	MayHold            Permission = "hold"              // legal hold
	MayRequestErasure  Permission = "request_erasure"   //
	MayErase           Permission = "erase"             //
	MayManageAccess    Permission = "manage_access"     // users, roles, tokens
	MayAudit           Permission = "audit"             // read and verify the audit trail
	MayPark            Permission = "park"              // park, look up
	MayExplain         Permission = "explain"           // fingerprints and evidence, storing nothing
	MayReport          Permission = "report"            // outcomes, deployments, census
	MayNothingButLogin Permission = "nothing_but_login" // what every signed-in person may: their own session
)

var roleMay = map[Permission][]Role{
	MaySee:             Roles,
	MayPreview:         Roles,
	MayDownload:        {RoleReviewer, RoleManager, RoleAuditor, RoleAdmin},
	MayNote:            {RoleAnalyst, RoleReviewer, RoleManager, RoleAdmin},
	MayDecide:          {RoleReviewer, RoleAdmin},
	MayPause:           {RoleReviewer, RoleManager, RoleAdmin},
	MayEditRunbook:     {RoleReviewer, RoleManager, RoleAdmin},
	MayExport:          {RoleReviewer, RoleManager, RoleAuditor, RoleAdmin},
	MaySetPolicy:       {RoleManager, RoleAdmin},
	MayHold:            {RoleManager, RoleAdmin},
	MayRequestErasure:  {RoleAnalyst, RoleReviewer, RoleManager, RoleAdmin},
	MayErase:           {RoleManager, RoleAdmin},
	MayManageAccess:    {RoleAdmin},
	MayAudit:           {RoleReviewer, RoleManager, RoleAuditor, RoleAdmin},
	MayNothingButLogin: Roles,
}

var scopeMay = map[Permission][]Scope{
	MaySee:       {ScopeRead},
	MayPreview:   {ScopeRead},
	MayDownload:  {ScopeRead},
	MayExport:    {ScopeRead},
	MayNote:      {ScopeAct},
	MayDecide:    {ScopeAct},
	MayPause:     {ScopeAct},
	MaySetPolicy: {ScopeAdmin},
	MayHold:      {ScopeAdmin},
	MayErase:     {ScopeAdmin},
	MayAudit:     {ScopeAdmin},
	MayPark:      {ScopeIngest},
	MayExplain:   {ScopeIngest, ScopeRead},
	MayReport:    {ScopeOutcome},
}

// ActorKind says who did something: a person, a token's holder, or a policy.
type ActorKind string

// The kinds of actor that an audit row can name.
const (
	ActorPerson ActorKind = "person"
	ActorToken  ActorKind = "token"
	ActorPolicy ActorKind = "policy"
)

// Actor is whoever an act is done for: recorded in the audit trail, and asked
// for its permissions before anything is changed.
type Actor struct {
	Kind    ActorKind
	ID      string   // the person's or the token's id; for a policy its name
	Name    string   // what people read: an e-mail address, a token's or a policy's name
	Role    Role     // of a person
	Scopes  []Scope  // of a token
	Sources []string // limited to these sources; empty: all
}

// Policy is the actor for what the system does by itself under a rule.
func Policy(name string) Actor { return Actor{Kind: ActorPolicy, ID: name, Name: name} }

// May says whether the actor is allowed to. What no table lists is denied. A
// policy may do everything, because only the program itself can act as one.
func (a Actor) May(p Permission) bool {
	switch a.Kind {
	case ActorPerson:
		return slices.Contains(roleMay[p], a.Role)
	case ActorToken:
		for _, s := range scopeMay[p] {
			if slices.Contains(a.Scopes, s) {
				return true
			}
		}
		return false
	case ActorPolicy:
		return true
	}
	return false
}

// SeesSource says whether the actor may know of the source. Everything of
// another source is not found, never forbidden.
func (a Actor) SeesSource(name string) bool {
	return len(a.Sources) == 0 || slices.Contains(a.Sources, name)
}

// Person is somebody who signs in.
type Person struct {
	ID       string
	Email    string
	Role     Role
	Sources  []string // limited to these sources; empty: all
	Disabled bool
}

// Actor is the person as the one who acts.
func (p Person) Actor() Actor {
	return Actor{Kind: ActorPerson, ID: p.ID, Name: p.Email, Role: p.Role, Sources: p.Sources}
}

// NormalEmail is the form under which an address is unique: trimmed and lower
// case. It does not judge whether mail would arrive there.
func NormalEmail(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// ValidEmail says whether s is a bare address (RFC 5322 §3.4.1) of at most 254
// bytes, without a character that cannot be seen. Whether mail would arrive there
// nobody needs to know here: it is the name that somebody signs in with.
func ValidEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s && len(s) <= 254 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
