-- Instants are microseconds since 1970. Texts that hold JSON are kept as TEXT: the databases never
-- look inside, and one spelling serves both.

-- The schedule stands in the same row as the operation, so that a step's commit touches one row.
-- A commit of a running step changes no indexed column, so it stays within its page (HOT);
-- fillfactor leaves room for that, and the garbage of the others is swept early.
CREATE TABLE operations (
    id              UUID PRIMARY KEY,
    instance_id     TEXT COLLATE "C" NOT NULL,
    kind            TEXT COLLATE "C" NOT NULL,
    class           TEXT COLLATE "C" NOT NULL,
    temporary       BOOLEAN NOT NULL,
    plan            TEXT NOT NULL,
    process         TEXT COLLATE "C" NOT NULL,
    state           TEXT COLLATE "C" NOT NULL,
    description     TEXT NOT NULL,
    finished_stages TEXT NOT NULL,
    skipped_steps   TEXT NOT NULL,
    last_error      TEXT,
    ending          TEXT,
    data            TEXT NOT NULL,
    secrets         BYTEA,
    secrets_key     TEXT COLLATE "C",
    version         BIGINT NOT NULL,
    control_seq     BIGINT NOT NULL DEFAULT 0,
    cancel_request  TEXT,
    pause_request   TEXT,
    skip_request    TEXT,
    budget          BIGINT NOT NULL,
    budget_from     BIGINT,
    created_at      BIGINT NOT NULL,
    started_at      BIGINT,
    finished_at     BIGINT,
    updated_at      BIGINT NOT NULL,
    due_at          BIGINT,
    wait_on         TEXT COLLATE "C",
    wait_seen       BIGINT NOT NULL DEFAULT 0,
    woken_by        TEXT,
    taken_from      TEXT,
    owner           TEXT COLLATE "C",
    fence           BIGINT NOT NULL DEFAULT 0,
    commits         BIGINT NOT NULL DEFAULT 0,
    CHECK ((secrets IS NULL) = (secrets_key IS NULL))
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 500,
    autovacuum_analyze_scale_factor = 0.02
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

-- No foreign keys here and on records: both are written only beside an update of their operation,
-- in the same statement, and checking every row again would cost a third of the throughput.
CREATE TABLE operation_steps (
    operation_id     UUID NOT NULL,
    seq              BIGINT NOT NULL,
    stage            TEXT COLLATE "C" NOT NULL,
    step             TEXT COLLATE "C" NOT NULL,
    status           TEXT NOT NULL,
    attempts         BIGINT NOT NULL,
    first_run_at     BIGINT,
    first_failure_at BIGINT,
    last_run_at      BIGINT,
    next_run_at      BIGINT,
    reason           TEXT,
    PRIMARY KEY (operation_id, stage, step)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE records (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operation_id UUID NOT NULL,
    at           BIGINT NOT NULL,
    kind         TEXT NOT NULL
);
CREATE INDEX records_operation ON records (operation_id, id);
-- For the purge. The table grows in order of time, so a block-range index of a few pages does.
CREATE INDEX records_at ON records USING brin (at) WITH (pages_per_range = 32, autosummarize = on);

-- Numbers of wake-ups come from one sequence and never repeat, so that forgetting an old row cannot
-- make a new wake-up look seen.
CREATE SEQUENCE signal_numbers;
CREATE TABLE signals (
    number BIGINT NOT NULL DEFAULT nextval('signal_numbers'),
    key    TEXT COLLATE "C" PRIMARY KEY,
    at     BIGINT NOT NULL
) WITH (fillfactor = 80);

CREATE TABLE replicas (
    id   TEXT COLLATE "C" PRIMARY KEY,
    beat BIGINT NOT NULL,
    at   BIGINT NOT NULL
) WITH (fillfactor = 50);

-- One row: engine time and the server's clock at the latest heartbeat of anybody. A jump of the clock
-- is gone with the next heartbeat.
CREATE TABLE fleet_time (
    id          BIGINT PRIMARY KEY CHECK (id = 1),
    engine_at   BIGINT NOT NULL,
    database_at BIGINT NOT NULL
) WITH (fillfactor = 50);

-- A known text under each key that was ever active: tells a wrong key from a right one at once.
CREATE TABLE key_checks (
    key_id TEXT COLLATE "C" PRIMARY KEY,
    sealed BYTEA NOT NULL
);
