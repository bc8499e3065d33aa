-- What the provisioner knows of its runtimes. The clusters themselves stand in Kubernetes.

-- The number of an operation among those of its runtime; none for operations of the broker. By it the
-- latest is known whatever the clocks said, and of those who have one, at most one is unfinished.
ALTER TABLE operations ADD COLUMN turn BIGINT;
CREATE UNIQUE INDEX operations_turn ON operations (instance_id, turn) WHERE turn IS NOT NULL;
CREATE UNIQUE INDEX operations_one_of_a_runtime ON operations (instance_id)
    WHERE turn IS NOT NULL AND state IN ('pending', 'in progress', 'canceling', 'retrying');

-- Secrets of a runtime are encrypted with a key of its own, kept here under a key of the keyring: a
-- change of keys writes one row per runtime, and a tombstone without the key holds no secret any more.
CREATE TABLE runtimes (
    id                UUID PRIMARY KEY,
    tenant            TEXT COLLATE "C" NOT NULL,
    sub_account       TEXT COLLATE "C",
    shoot_name        TEXT COLLATE "C" NOT NULL,
    project           TEXT COLLATE "C" NOT NULL,
    director_id       TEXT COLLATE "C",
    director_owned    BOOLEAN NOT NULL,
    created_at        BIGINT NOT NULL,
    deleted_at        BIGINT,
    agent_state       TEXT COLLATE "C",
    agent_errors      TEXT,
    agent_observed_at BIGINT,
    data_key          BYTEA,
    data_key_id       TEXT COLLATE "C",
    version           BIGINT NOT NULL,
    CHECK ((data_key IS NULL) = (data_key_id IS NULL)),
    CHECK ((data_key IS NULL) = (deleted_at IS NOT NULL)),
    CHECK ((agent_state IS NULL) = (agent_observed_at IS NULL) AND (agent_errors IS NULL) = (agent_state IS NULL))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX runtimes_name ON runtimes (project, shoot_name) WHERE deleted_at IS NULL;
CREATE INDEX runtimes_live ON runtimes (id) WHERE deleted_at IS NULL;
CREATE INDEX runtimes_deleted_at ON runtimes (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX runtimes_data_key_id ON runtimes (data_key_id) WHERE data_key_id IS NOT NULL;

-- Only ever added to. The operation has no foreign key: it may be forgotten before its runtime.
CREATE TABLE runtime_configs (
    runtime_id     UUID NOT NULL REFERENCES runtimes (id) ON DELETE CASCADE,
    revision       BIGINT NOT NULL,
    schema_version BIGINT NOT NULL,
    spec           TEXT NOT NULL,
    secrets        BYTEA,
    created_by     UUID NOT NULL,
    PRIMARY KEY (runtime_id, revision)
);

CREATE TABLE kyma_configs (
    id         UUID PRIMARY KEY,
    runtime_id UUID NOT NULL REFERENCES runtimes (id) ON DELETE CASCADE,
    spec       TEXT NOT NULL,
    secrets    BYTEA,
    is_active  BOOLEAN NOT NULL
);
CREATE INDEX kyma_configs_runtime ON kyma_configs (runtime_id);
CREATE UNIQUE INDEX kyma_configs_one_active ON kyma_configs (runtime_id) WHERE is_active;

CREATE TABLE kyma_upgrades (
    operation_id UUID PRIMARY KEY,
    pre_config   UUID NOT NULL REFERENCES kyma_configs (id) ON DELETE CASCADE,
    post_config  UUID NOT NULL REFERENCES kyma_configs (id) ON DELETE CASCADE,
    state        TEXT COLLATE "C" NOT NULL
);
CREATE INDEX kyma_upgrades_pre_config ON kyma_upgrades (pre_config);
CREATE INDEX kyma_upgrades_post_config ON kyma_upgrades (post_config);

-- Written before the Director is asked, so that whatever dies in between leaves a trace.
CREATE TABLE director_intents (
    key         TEXT COLLATE "C" PRIMARY KEY,
    tenant      TEXT COLLATE "C" NOT NULL,
    name        TEXT NOT NULL,
    director_id TEXT COLLATE "C",
    state       TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE INDEX director_intents_open ON director_intents (created_at, key)
    WHERE state IN ('PLANNED', 'REGISTERED', 'ABANDONED');

-- Outlives what it is about, so it refers to nothing.
CREATE TABLE audit_log (
    id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at              BIGINT NOT NULL,
    who             TEXT NOT NULL,
    tenant          TEXT COLLATE "C" NOT NULL,
    previous_tenant TEXT COLLATE "C",
    action          TEXT COLLATE "C" NOT NULL,
    runtime_id      UUID NOT NULL,
    operation_id    UUID,
    changed_paths   TEXT NOT NULL
);
CREATE INDEX audit_log_runtime ON audit_log (runtime_id, id);
