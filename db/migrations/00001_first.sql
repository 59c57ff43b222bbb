-- +goose Up

-- Times are milliseconds since 1970 UTC. Days are days since 1970 UTC, months
-- are year * 12 + month - 1. Ids that people see are ULIDs made in Go.

create table meta (
    name  text primary key,
    value text not null
);

-- Sources ---------------------------------------------------------------------

create table source (
    id              integer primary key,
    name            text    not null unique,
    policy          text    not null,             -- JSON without its secrets
    redrive_secret  blob,                         -- sealed with the data folder's key
    alert_secret    blob,
    paused          integer not null default 0,
    paused_by       text    not null default '',
    echoes          integer not null default 0,   -- it has sent a redrive_id back
    delivered       integer not null default 0,   -- redrives that its target took
    reported        integer not null default 0,   -- outcomes that it told us
    last_arrival_at integer not null default 0,
    created_at      integer not null,
    updated_at      integer not null
);

-- What runs now, and how it came to.
create table deployment (
    id         integer primary key,
    source_id  integer not null references source (id),
    component  text    not null,
    version    text    not null,
    started_at integer not null,
    stopped_at integer,                            -- null: runs now
    actor      text    not null
);
create unique index deployment_runs on deployment (source_id, component, version) where stopped_at is null;
create index deployment_history on deployment (source_id, started_at, id);

-- Cohorts and what is interned -------------------------------------------------

create table cohort (
    id           text    primary key,
    review       integer not null default 0,       -- of low-confidence results: no failures
    confidence   text    not null,                 -- of the grouping: high, medium, low
    error_type   text    not null,
    template     text    not null,                 -- message template of its first fingerprint
    frame        text    not null,                 -- where it is raised, in words
    source_id    integer not null references source (id), -- of its first arrival
    owner        text    not null default '',
    ticket       text    not null default '',
    runbook      text    not null default '',
    merged_into  text,
    parked       integer not null default 0,
    redriving    integer not null default 0,
    quarantined  integer not null default 0,
    archived     integer not null default 0,
    resolved     integer not null default 0,
    erased       integer not null default 0,
    arrivals     integer not null default 0,
    first_seen   integer not null,
    last_seen    integer not null,
    created_at   integer not null
);
create index cohort_by_depth on cohort (review, parked, id);
create index cohort_by_arrival on cohort (review, last_seen, id);

-- A fingerprint is a member of one cohort. Derived members of a split have a
-- digest of the form digest/rule:value.
create table fingerprint (
    id           integer primary key,
    algorithm    text    not null,                  -- f1
    digest       text    not null,
    cohort_id    text    not null references cohort (id),
    mode         text    not null,
    confidence   text    not null,
    language     text    not null,
    error_type   text    not null,
    root_type    text    not null,
    template     text    not null,
    frames       text    not null,                  -- JSON, innermost first
    canonical    text    not null,                  -- what the digest is made of
    exemplar_id  integer,                           -- an attempt whose trace shows it
    created_at   integer not null,
    unique (algorithm, digest)
);
create index fingerprint_cohort on fingerprint (cohort_id, id);
create index fingerprint_digest on fingerprint (digest, id);

create table version_set (
    id       integer primary key,
    versions text not null unique                  -- canonical JSON
);

-- The same, a row a component, so that a list can ask for one of them.
create table version_of (
    component      text    not null,
    version        text    not null,
    version_set_id integer not null references version_set (id),
    primary key (component, version, version_set_id)
);

-- A cell interns everything that lists filter by: entries and counters point
-- to a cell, and a filter is a small question about cells.
create table cell (
    id             integer primary key,
    fingerprint_id integer not null references fingerprint (id),
    source_id      integer not null references source (id),
    version_set_id integer not null references version_set (id),
    reason         text    not null,
    error_class    text    not null,
    error_type     text    not null,
    content_type   text    not null,
    stage          text    not null,
    unique (fingerprint_id, source_id, version_set_id, reason, error_class, error_type, content_type, stage)
);
create index cell_source on cell (source_id, id);

-- Entries ----------------------------------------------------------------------

create table entry (
    id              integer primary key,
    dlq_id          text    not null unique,
    source_id       integer not null references source (id),
    doc_id          text    not null,
    status          text    not null,
    resolution      text    not null default '',
    marks           text    not null default '',
    cell_id         integer not null references cell (id),       -- of the current evidence
    fingerprint_id  integer not null references fingerprint (id), -- the same as the cell's
    evidence_id     integer not null,                             -- the attempt that is the current evidence
    episode         integer not null default 1,
    attempts        integer not null,
    arrivals        integer not null,
    last_attempt    integer not null,                             -- sequence of the newest attempt row
    redrives_total  integer not null default 0,
    same_failures   integer not null default 0,
    granted         integer not null default 0,                   -- one more replay at the threshold
    first_seen      integer not null,
    opened_at       integer not null,
    last_seen       integer not null,
    expires_at      integer not null,
    ingest_seq      integer,                                      -- of the current evidence
    received_at     integer not null,                             -- of the current evidence
    settled_at      integer,                                      -- when the settling outcome happened
    settled_seq     integer,
    content_hash    text,
    key_check       text    not null default '',                  -- what the key was found to be
    payload_sha256  text,                                         -- of the current evidence
    payload_bytes   integer,
    payload_state   text    not null default 'never',             -- of the held copy: held, never, expired, corrupt
    payload_attempt integer,                                      -- the attempt that brought the held copy
    held_sha256     text,                                       -- the held copy: the newest held, perhaps of an older attempt
    payload_expires integer,
    sender_id       text,
    filename        text    not null default '',
    message         text    not null default '',                  -- head of the current error message
    owner           text    not null default '',
    ticket          text    not null default '',
    blocked         integer not null default 0,                   -- erased, and not to be parked again
    version         integer not null default 1,                   -- of this row; moves with every change
    unique (source_id, doc_id)
);
create index entry_by_fingerprint on entry (fingerprint_id, status, last_seen, id);
create index entry_by_cell on entry (cell_id, status, last_seen, id);
create index entry_by_status on entry (status, last_seen, id);
create index entry_oldest on entry (source_id, opened_at, id) where status = 'parked';
create index entry_cohort_oldest on entry (fingerprint_id, opened_at) where status = 'parked';
-- The state leads, though it is the same in every row: without it, a planner that
-- knows no figures prefers to sort all that is parked.
create index entry_expiring on entry (status, expires_at, id) where status = 'parked';
create index entry_expiring_cohort on entry (fingerprint_id, expires_at) where status = 'parked';
create index entry_by_key on entry (content_hash, source_id) where content_hash is not null;
create index entry_by_payload on entry (payload_sha256) where payload_sha256 is not null;
create index entry_by_held on entry (held_sha256) where held_sha256 is not null;
create index entry_by_sender on entry (sender_id) where sender_id is not null;
create index entry_by_doc on entry (doc_id);

-- The history of an entry, clustered: id = entry id * 2^20 + sequence.
create table attempt (
    id                integer primary key,
    source_id         integer not null,
    kind              text    not null,             -- arrival, outcome
    why               text    not null,             -- what it did: parked, evidence, history, failed
    episode           integer not null,
    event_key         text,                         -- by which the same event is known again
    redrive_id        text,
    cell_id           integer not null references cell (id),
    attempts          integer not null,             -- deliveries that it reports
    received_at       integer not null,
    first_seen        integer not null,
    last_seen         integer not null,
    ingest_seq        integer,
    source_version    text,
    source_updated_at integer,
    cursor            text,
    source_url        text,
    payload_sha256    text,
    payload_bytes     integer,
    payload_uri       text,
    filename          text,
    confidence        real,
    processing        text,                         -- processing_version
    indexed_version   text,
    detail            blob,                         -- zstd of JSON: message, trace, validation, labels, extra
    actor             text    not null
);
create unique index attempt_event on attempt (source_id, event_key) where event_key is not null;

-- Original bytes that the payload store holds.
create table payload (
    sha256    text    primary key,
    bytes     integer not null,
    stored_at integer not null
);
create index payload_oldest on payload (stored_at, sha256);

-- What was refused, kept as it came.
create table rejected (
    id          integer primary key,
    source      text    not null,                   -- as the sender or the token named it; may be empty
    received_at integer not null,
    actor       text    not null,
    body        blob    not null,                   -- zstd
    body_bytes  integer not null,
    problem     text    not null                    -- JSON of the answer
);
create index rejected_by_source on rejected (source, id);

-- Operations, redrives, outcomes ------------------------------------------------

create table operation (
    id             text    primary key,
    kind           text    not null,
    state          text    not null,
    why            text    not null default '',
    query          text    not null,
    expect         integer not null,
    reason         text    not null,
    actor_kind     text    not null,
    actor_id       text    not null,
    actor_name     text    not null,
    mode           text    not null default '',
    accept_unknown integer not null default 0,
    canary         text    not null default '[]',
    step           integer not null default 0,
    rate           real    not null default 0,
    concurrency    integer not null default 0,
    stop_share     real    not null default 0,
    days           integer not null default 0,
    until          integer not null default 0,
    grant_kind     text    not null default '',
    total          integer not null default 0,
    waiting        integer not null default 0,
    in_flight      integer not null default 0,
    settled        integer not null default 0,
    left_out       integer not null default 0,
    cancelled      integer not null default 0,
    created_at     integer not null,
    updated_at     integer not null,
    ended_at       integer
);
create index operation_newest on operation (created_at, id);
create index operation_open on operation (id) where state not in ('done', 'cancelled');
create index operation_ending on operation (id) where state = 'cancelled' and (waiting > 0 or in_flight > 0);

create table item (
    operation_id text    not null references operation (id),
    entry_id     integer not null,                  -- 0 for one that was not found
    dlq_id       text    not null,
    position     integer not null,
    step         integer not null default 0,
    state        text    not null,
    why          text    not null default '',
    redrive_id   text,
    primary key (operation_id, position)
);
create index item_waiting on item (operation_id, position) where state = 'waiting';
create index item_by_state on item (operation_id, state, position);
create index item_by_entry on item (entry_id, operation_id);
create index item_reserves on item (entry_id) where state = 'waiting';
create index item_by_redrive on item (redrive_id) where redrive_id is not null;

create table redrive (
    id               text    primary key,
    operation_id     text    not null references operation (id),
    entry_id         integer not null references entry (id),
    source_id        integer not null references source (id),
    content_hash     text    not null,
    mode             text    not null,              -- as asked
    accept_unknown   integer not null default 0,
    sent             text    not null default '',   -- as sent
    state            text    not null,
    failed_attempt   integer not null,
    failed_cohort    text    not null,              -- the cohort at the moment it was asked
    failed_sha256    text,                          -- of the bytes that failed
    payload_sha256   text,                          -- of the bytes that were sent
    payload_uri      text,
    source_version   text,
    probe            text,                          -- JSON: what the source said at dispatch
    bytes            text,                          -- JSON: the reading of it, with grade and caveats
    failed_under     text    not null,              -- versions, canonical JSON
    running          text,                          -- JSON: what ran at the send
    created_at       integer not null,
    sent_at          integer,
    accepted_at      integer,
    due_at           integer,
    deliveries       integer not null default 0,
    next_at          integer not null,
    give_up_at       integer,
    last_status      integer not null default 0,
    last_error       text    not null default '',
    last_body        text    not null default '',
    lease_owner      text    not null default '',
    lease_epoch      integer not null default 0,
    lease_until      integer not null default 0,
    outcome          text    not null default '',
    outcome_at       integer,
    outcome_seq      integer,
    outcome_version  text,
    outcome_sha256   text,
    outcome_versions text,
    outcome_attempt  integer,
    outcome_cohort   text,
    outcome_class    text    not null default '',
    outcome_unnamed  integer not null default 0,    -- it failed without error fields
    presumed         integer not null default 0,
    late             text    not null default '',   -- an outcome that came after it was settled
    late_at          integer,
    settled_at       integer
);
create unique index redrive_one_in_flight on redrive (source_id, content_hash) where state in ('pending', 'claimed', 'delivered');
create index redrive_due on redrive (next_at, id) where state in ('pending', 'claimed');
create index redrive_overdue on redrive (due_at, id) where state = 'delivered';
create index redrive_by_entry on redrive (entry_id, created_at, id);
create index redrive_by_key on redrive (content_hash, source_id);
create index redrive_by_operation on redrive (operation_id, id);
create index redrive_by_cohort on redrive (failed_cohort, created_at, id) where sent_at is not null;

-- Every outcome that was ever told, applied or not.
create table outcome (
    id             integer primary key,
    received_at    integer not null,
    event_key      text    not null unique,         -- by which the same report is known again
    source         text    not null,
    doc_id         text    not null,
    redrive_id     text    not null,
    content_hash   text    not null,
    entry_id       integer,
    result         text    not null,
    at             integer not null,
    ingest_seq     integer,
    source_version text,
    payload_sha256 text,
    versions       text    not null,
    applied        integer not null,
    why            text    not null default '',
    actor          text    not null
);
create index outcome_by_entry on outcome (entry_id, id) where entry_id is not null;
create index outcome_unknown on outcome (source, id) where entry_id is null;

-- The keys that are committed.
create table commit_register (
    source_id    integer not null references source (id),
    content_hash text    not null,
    entry_id     integer not null,
    redrive_id   text    not null default '',
    result       text    not null,
    at           integer not null,
    primary key (source_id, content_hash)
);

-- What each source said of a document when it was asked.
create table probe (
    entry_id integer primary key references entry (id),
    asked_at integer not null,
    said     text    not null,                      -- JSON
    reading  text    not null,
    grade    text    not null,
    evidence text    not null,                      -- JSON
    of_attempt integer not null                     -- the evidence that it was held against
);

-- Notes and alerts ---------------------------------------------------------------

create table note (
    id         integer primary key,
    entry_id   integer,
    cohort_id  text,
    author     text    not null,
    written_at integer not null,
    body       text    not null
);
create index note_entry on note (entry_id, id) where entry_id is not null;
create index note_cohort on note (cohort_id, id) where cohort_id is not null;

create table alert (
    id          text    primary key,
    rule        text    not null,
    subject     text    not null,                   -- what it is about: one alert for one condition
    state       text    not null,                   -- firing, acknowledged, resolved
    source_id   integer,
    cohort_id   text,
    entry_id    integer,
    operation_id text,
    value       integer not null default 0,
    threshold   integer not null default 0,
    why         text    not null,
    since       integer not null,
    updated_at  integer not null,
    acknowledged_by text not null default '',
    resolved_at integer
);
create unique index alert_one_condition on alert (rule, subject) where state in ('firing', 'acknowledged');
create index alert_newest on alert (since, id);

-- Rollups ------------------------------------------------------------------------

-- Entries by cell, month of opening, and status.
create table cell_month (
    cell_id integer not null references cell (id),
    month   integer not null,
    status  text    not null,
    entries integer not null,
    primary key (cell_id, month, status)
);

create table fingerprint_day (
    fingerprint_id integer not null references fingerprint (id),
    source_id      integer not null references source (id),
    day            integer not null,
    arrivals       integer not null,
    primary key (fingerprint_id, source_id, day)
);

-- What came in and went out, a row a source and day. Depth is what was opened,
-- restored and returned, less what left.
create table source_day (
    source_id integer not null references source (id),
    day       integer not null,
    review    integer not null default 0,           -- of low-confidence results
    arrivals  integer not null default 0,
    opened    integer not null default 0,           -- episodes begun
    parked    integer not null default 0,           -- moves into parked
    unparked  integer not null default 0,           -- moves out of parked
    resolved  integer not null default 0,           -- by commit, skip, superseded
    assumed   integer not null default 0,
    archived  integer not null default 0,
    erased    integer not null default 0,
    primary key (source_id, day, review)
);

-- People, tokens, audit ------------------------------------------------------------

create table person (
    id            text    primary key,
    email         text    not null unique,
    role          text    not null,
    sources       text    not null default '[]',    -- JSON: limited to these; empty: all
    password_hash text    not null,
    disabled      integer not null default 0,
    created_at    integer not null,
    signed_in_at  integer
);

create table session (
    id_hash    text    primary key,
    person_id  text    not null references person (id),
    data       blob    not null,
    created_at integer not null,
    seen_at    integer not null
);
create index session_person on session (person_id, seen_at);

create table login_throttle (
    subject  text    primary key,                   -- an account or an address, hashed
    failures integer not null,
    at       integer not null
);

create table setup_link (
    id_hash    text    primary key,
    created_at integer not null,
    expires_at integer not null,
    used_at    integer
);

create table token (
    id         text    primary key,
    name       text    not null,
    hash       text    not null,
    scopes     text    not null,                    -- comma-separated
    source     text    not null default '',         -- bound to one source
    created_at integer not null,
    created_by text    not null,
    expires_at integer,
    used_at    integer,
    revoked_at integer
);

create table audit (
    seq          integer primary key,
    at           integer not null,
    actor_kind   text    not null,
    actor_id     text    not null,
    actor_name   text    not null,
    action       text    not null,
    entry_id     integer,
    dlq_id       text    not null default '',
    cohort_id    text    not null default '',
    operation_id text    not null default '',
    source       text    not null default '',
    detail       text    not null default '',       -- JSON: identity and counts, never content
    hash         text    not null                   -- of the previous row's and this row
);

-- What a person typed beside an act. It may speak of a document, and so it does
-- not stand in the trail itself, whose rows stay for ever.
create table reason (
    audit_seq integer primary key references audit (seq),
    body      text    not null
);
create index audit_entry on audit (entry_id, seq) where entry_id is not null;
create index audit_cohort on audit (cohort_id, seq) where cohort_id <> '';
create index audit_operation on audit (operation_id, seq) where operation_id <> '';

-- +goose StatementBegin
create trigger audit_no_update before update on audit
begin
    select raise(abort, 'the audit trail is only ever appended to');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger audit_no_delete before delete on audit
begin
    select raise(abort, 'the audit trail is only ever appended to');
end;
-- +goose StatementEnd

-- +goose Down
select 1;
