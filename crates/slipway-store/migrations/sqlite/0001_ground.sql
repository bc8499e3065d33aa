-- Instants are microseconds since 1970. Texts that hold JSON are kept as TEXT: the databases never
-- look inside, and one spelling serves both.

CREATE TABLE operations (
    id              BLOB NOT NULL PRIMARY KEY,
    instance_id     TEXT NOT NULL,
    kind            TEXT NOT NULL,
    class           TEXT NOT NULL,
    temporary       BOOLEAN NOT NULL,
    plan            TEXT NOT NULL,
    process         TEXT NOT NULL,
    state           TEXT NOT NULL,
    description     TEXT NOT NULL,
    finished_stages TEXT NOT NULL,
    skipped_steps   TEXT NOT NULL,
    last_error      TEXT,
    ending          TEXT,
    data            TEXT NOT NULL,
    secrets         BLOB,
    secrets_key     TEXT,
    version         INTEGER NOT NULL,
    control_seq     INTEGER NOT NULL DEFAULT 0,
    cancel_request  TEXT,
    pause_request   TEXT,
    skip_request    TEXT,
    budget          INTEGER NOT NULL,
    budget_from     INTEGER,
    created_at      INTEGER NOT NULL,
    started_at      INTEGER,
    finished_at     INTEGER,
    updated_at      INTEGER NOT NULL,
    due_at          INTEGER,
    wait_on         TEXT,
    wait_seen       INTEGER NOT NULL DEFAULT 0,
    woken_by        TEXT,
    taken_from      TEXT,
    owner           TEXT,
    fence           INTEGER NOT NULL DEFAULT 0,
    commits         INTEGER NOT NULL DEFAULT 0,
    CHECK ((secrets IS NULL) = (secrets_key IS NULL))
);

-- At most one operation of an instance runs.
CREATE UNIQUE INDEX operations_one_runs ON operations (instance_id) WHERE state IN ('in progress', 'canceling');
-- Removing twice is one removal.
CREATE UNIQUE INDEX operations_one_removal ON operations (instance_id)
    WHERE kind = 'deprovision' AND NOT temporary AND state IN ('pending', 'in progress', 'canceling', 'retrying');
CREATE INDEX operations_due ON operations (class, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX operations_owner ON operations (owner) WHERE owner IS NOT NULL;
CREATE INDEX operations_wait_on ON operations (wait_on) WHERE wait_on IS NOT NULL;
CREATE INDEX operations_instance ON operations (instance_id, created_at);
CREATE INDEX operations_state ON operations (state, id);
CREATE INDEX operations_secrets_key ON operations (secrets_key) WHERE secrets_key IS NOT NULL;

-- Found by its key only, so it is stored in the key's order.
CREATE TABLE operation_steps (
    operation_id     BLOB NOT NULL REFERENCES operations (id),
    seq              INTEGER NOT NULL,
    stage            TEXT NOT NULL,
    step             TEXT NOT NULL,
    status           TEXT NOT NULL,
    attempts         INTEGER NOT NULL,
    first_run_at     INTEGER,
    first_failure_at INTEGER,
    last_run_at      INTEGER,
    next_run_at      INTEGER,
    reason           TEXT,
    PRIMARY KEY (operation_id, stage, step)
) WITHOUT ROWID;

-- AUTOINCREMENT here and below: a number is not used again after its row was purged.
CREATE TABLE records (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id BLOB NOT NULL REFERENCES operations (id),
    at           INTEGER NOT NULL,
    kind         TEXT NOT NULL
);
CREATE INDEX records_operation ON records (operation_id, id);
CREATE INDEX records_at ON records (at);

CREATE TABLE signals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key    TEXT NOT NULL UNIQUE,
    at     INTEGER NOT NULL
);

CREATE TABLE replicas (
    id   TEXT NOT NULL PRIMARY KEY,
    beat INTEGER NOT NULL,
    at   INTEGER NOT NULL
);

-- One row: engine time and the machine's clock at the latest heartbeat of anybody. A jump of the clock
-- is gone with the next heartbeat.
CREATE TABLE fleet_time (
    id          INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    engine_at   INTEGER NOT NULL,
    database_at INTEGER NOT NULL
);

-- A known text under each key that was ever active: tells a wrong key from a right one at once.
CREATE TABLE key_checks (
    key_id TEXT NOT NULL PRIMARY KEY,
    sealed BLOB NOT NULL
);
