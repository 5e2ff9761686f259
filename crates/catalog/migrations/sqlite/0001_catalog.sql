-- Ids are 16-byte BLOBs, hashes 32-byte BLOBs, times RFC 3339 in UTC (they sort as text),
-- JSON is TEXT. What PostgreSQL keeps in a sequence stands in a row of `counters`.

CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters (name, last) VALUES ('fence', 0);

CREATE TABLE tenants (
    id BLOB PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    last_event INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL
) STRICT;

CREATE TABLE users (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    login TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'user')),
    password_hash TEXT NOT NULL,
    disabled INTEGER NOT NULL DEFAULT FALSE,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX users_by_tenant ON users (tenant_id, login);

CREATE TABLE api_keys (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'user')),
    scopes TEXT NOT NULL,
    created_by BLOB,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT,
    last_used_at TEXT
) STRICT;
CREATE INDEX api_keys_by_tenant ON api_keys (tenant_id, id);

CREATE TABLE knowledge_bases (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    name TEXT NOT NULL,
    next_number INTEGER NOT NULL DEFAULT 0,
    retention TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (tenant_id, name)
) STRICT;

CREATE TABLE generations (
    id BLOB PRIMARY KEY,
    kb_id BLOB NOT NULL REFERENCES knowledge_bases (id),
    number INTEGER NOT NULL,
    spec TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('serving', 'building', 'retired')),
    changes INTEGER NOT NULL DEFAULT 0,
    rebuilt INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    UNIQUE (kb_id, number)
) STRICT;
CREATE UNIQUE INDEX one_serving_generation ON generations (kb_id) WHERE state = 'serving';
CREATE UNIQUE INDEX one_building_generation ON generations (kb_id) WHERE state = 'building';

CREATE TABLE ingestion_sources (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    kb_id BLOB NOT NULL REFERENCES knowledge_bases (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    config TEXT NOT NULL,
    enabled INTEGER NOT NULL DEFAULT TRUE,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_success_at TEXT,
    UNIQUE (tenant_id, name)
) STRICT;

CREATE TABLE documents (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    kb_id BLOB NOT NULL REFERENCES knowledge_bases (id),
    source_uri TEXT NOT NULL,
    source_id BLOB,
    latest_version BLOB,
    removed_at TEXT,
    removed_order TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (tenant_id, kb_id, source_uri)
) STRICT;
CREATE INDEX documents_by_tenant ON documents (tenant_id, id);
CREATE INDEX documents_by_kb ON documents (kb_id, id);

-- What a source last showed of each of its objects, so that a listing can be compared.
CREATE TABLE source_objects (
    source_id BLOB NOT NULL REFERENCES ingestion_sources (id),
    object_key TEXT NOT NULL,
    document_id BLOB,
    etag TEXT,
    object_version TEXT,
    size INTEGER,
    source_order TEXT,
    seen_at TEXT NOT NULL,
    seen_by BLOB,
    gone_at TEXT,
    PRIMARY KEY (source_id, object_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE uploads (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    kb_id BLOB NOT NULL REFERENCES knowledge_bases (id),
    object_key TEXT NOT NULL UNIQUE,
    filename TEXT NOT NULL,
    size INTEGER NOT NULL,
    media_type TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'admitted', 'failed', 'expired')),
    document_id BLOB,
    run_id BLOB,
    initiated_by BLOB,
    error TEXT,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX uploads_by_tenant ON uploads (tenant_id, id);
CREATE INDEX uploads_pending ON uploads (expires_at) WHERE state = 'pending';

CREATE TABLE document_versions (
    id BLOB PRIMARY KEY,
    document_id BLOB NOT NULL REFERENCES documents (id),
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    kb_id BLOB NOT NULL REFERENCES knowledge_bases (id),
    generation_id BLOB NOT NULL REFERENCES generations (id),
    run_id BLOB NOT NULL,
    number INTEGER NOT NULL,
    content_hash BLOB NOT NULL,
    size INTEGER NOT NULL,
    media_type TEXT,
    filename TEXT NOT NULL,
    title TEXT,
    language TEXT,
    metadata TEXT NOT NULL,
    source_order TEXT NOT NULL,
    -- Admitted outside any job: no job's cancel may remove it.
    claimed_directly INTEGER NOT NULL DEFAULT FALSE,
    state TEXT NOT NULL
        CHECK (state IN ('pending', 'processing', 'ready', 'superseded', 'failed', 'canceled')),
    pass INTEGER NOT NULL DEFAULT 0,
    units_total INTEGER NOT NULL DEFAULT 0,
    units_open INTEGER NOT NULL DEFAULT 0 CHECK (units_open >= 0),
    last_unit TEXT,
    -- The fences under which Prep and Finalize were answered, to answer them again.
    prep_token INTEGER,
    final_token INTEGER,
    needs_flush INTEGER,
    chunks INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    root_hash BLOB,
    gaps TEXT NOT NULL,
    warnings TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (kb_id, number)
) STRICT;
CREATE INDEX versions_by_document ON document_versions (document_id, number);
CREATE INDEX versions_by_content ON document_versions (tenant_id, content_hash);

-- One row per value: what filters look up.
CREATE TABLE version_metadata (
    kb_id BLOB NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    version_id BLOB NOT NULL REFERENCES document_versions (id),
    PRIMARY KEY (kb_id, key, value, version_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX metadata_by_version ON version_metadata (version_id);

CREATE TABLE activations (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    kb_id BLOB NOT NULL REFERENCES knowledge_bases (id),
    generation_id BLOB NOT NULL REFERENCES generations (id),
    document_id BLOB NOT NULL REFERENCES documents (id),
    version_id BLOB NOT NULL REFERENCES document_versions (id),
    number INTEGER NOT NULL,
    needs_flush INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('run', 'rollback')),
    opened_by BLOB,
    replaced BLOB,
    -- The generation's count of changes when this row last changed.
    change INTEGER NOT NULL,
    opened_at TEXT NOT NULL,
    closed_at TEXT,
    CHECK (closed_at IS NULL OR closed_at >= opened_at)
) STRICT;
CREATE UNIQUE INDEX one_open_activation ON activations (document_id, generation_id)
    WHERE closed_at IS NULL;
CREATE INDEX open_activations ON activations (generation_id, number, needs_flush, chunks)
    WHERE closed_at IS NULL;
CREATE INDEX activations_by_change ON activations (generation_id, change);
CREATE INDEX activations_by_time ON activations (generation_id, opened_at, closed_at);
CREATE INDEX activations_by_document ON activations (document_id, opened_at);
CREATE INDEX activations_by_version ON activations (version_id);

CREATE TABLE document_units (
    version_id BLOB NOT NULL REFERENCES document_versions (id),
    unit TEXT NOT NULL,
    pass INTEGER NOT NULL,
    position INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'done', 'gap')),
    chunks INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    reused INTEGER NOT NULL DEFAULT 0,
    flush INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    completed_at TEXT,
    PRIMARY KEY (version_id, unit)
) STRICT, WITHOUT ROWID;

CREATE TABLE pages (
    version_id BLOB NOT NULL REFERENCES document_versions (id),
    page INTEGER NOT NULL,
    width REAL NOT NULL,
    height REAL NOT NULL,
    PRIMARY KEY (version_id, page)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    kb_id BLOB NOT NULL REFERENCES knowledge_bases (id),
    source_id BLOB REFERENCES ingestion_sources (id),
    status TEXT NOT NULL
        CHECK (status IN ('not_started', 'running', 'paused', 'completed', 'failed', 'canceled')),
    config TEXT NOT NULL,
    cursor TEXT,
    exhausted INTEGER NOT NULL DEFAULT FALSE,
    token INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    lease_until TEXT,
    docs_seen INTEGER NOT NULL DEFAULT 0,
    docs_skipped INTEGER NOT NULL DEFAULT 0,
    docs_refused INTEGER NOT NULL DEFAULT 0,
    runs_open INTEGER NOT NULL DEFAULT 0,
    runs_failed INTEGER NOT NULL DEFAULT 0,
    chunks_seen INTEGER NOT NULL DEFAULT 0,
    chunks_processed INTEGER NOT NULL DEFAULT 0,
    chunks_skipped INTEGER NOT NULL DEFAULT 0,
    chunks_error INTEGER NOT NULL DEFAULT 0,
    initiated_by BLOB,
    error TEXT,
    created_at TEXT NOT NULL,
    started_at TEXT,
    updated_at TEXT NOT NULL,
    finished_at TEXT,
    heartbeat_at TEXT,
    CHECK (chunks_seen = chunks_processed + chunks_skipped + chunks_error)
) STRICT;
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, id);
CREATE UNIQUE INDEX one_job_of_a_source ON jobs (source_id)
    WHERE status IN ('running', 'paused', 'canceled');
CREATE INDEX jobs_to_drive ON jobs (status, lease_until);

CREATE TABLE job_versions (
    job_id BLOB NOT NULL REFERENCES jobs (id),
    version_id BLOB NOT NULL REFERENCES document_versions (id),
    outcome TEXT NOT NULL CHECK (outcome IN ('new', 'new_version', 'skipped')),
    PRIMARY KEY (job_id, version_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_of_a_version ON job_versions (version_id);

-- Files a job met and could not take in; cleared when it starts anew.
CREATE TABLE job_problems (
    job_id BLOB NOT NULL REFERENCES jobs (id),
    position INTEGER NOT NULL,
    source_uri TEXT,
    message TEXT NOT NULL,
    PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

-- Runs, ledger and events outlive what they tell of: no reference to documents or versions.
CREATE TABLE ingestion_runs (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    kb_id BLOB NOT NULL REFERENCES knowledge_bases (id),
    generation_id BLOB NOT NULL REFERENCES generations (id),
    document_id BLOB NOT NULL,
    version_id BLOB NOT NULL,
    source_uri TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    job_id BLOB,
    source_id BLOB,
    status TEXT NOT NULL
        CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'canceled')),
    superseded INTEGER NOT NULL DEFAULT FALSE,
    run_type TEXT NOT NULL,
    initiated_by BLOB,
    config TEXT NOT NULL,
    chunks_created INTEGER NOT NULL DEFAULT 0,
    tokens_total INTEGER NOT NULL DEFAULT 0,
    chunks_processed INTEGER NOT NULL DEFAULT 0,
    chunks_skipped INTEGER NOT NULL DEFAULT 0,
    chunks_error INTEGER NOT NULL DEFAULT 0,
    error_code TEXT,
    error_message TEXT,
    error_hint TEXT,
    waiting TEXT,
    waiting_until TEXT,
    stage TEXT,
    trace TEXT,
    created_at TEXT NOT NULL,
    started_at TEXT,
    updated_at TEXT NOT NULL,
    finished_at TEXT,
    heartbeat_at TEXT
) STRICT;
CREATE UNIQUE INDEX one_live_run ON ingestion_runs (document_id, generation_id, content_hash)
    WHERE status IN ('queued', 'running');
CREATE INDEX runs_by_tenant ON ingestion_runs (tenant_id, id);
CREATE INDEX runs_by_status ON ingestion_runs (tenant_id, status, id);
CREATE INDEX runs_by_document ON ingestion_runs (document_id, id);
CREATE INDEX runs_by_job ON ingestion_runs (job_id, id) WHERE job_id IS NOT NULL;
CREATE INDEX live_runs ON ingestion_runs (status, updated_at)
    WHERE status IN ('queued', 'running');

CREATE TABLE work (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    step_key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('prep', 'extract', 'finalize')),
    step TEXT NOT NULL,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    kb_id BLOB NOT NULL,
    generation_id BLOB NOT NULL,
    document_id BLOB NOT NULL,
    version_id BLOB NOT NULL REFERENCES document_versions (id),
    number INTEGER NOT NULL,
    run_id BLOB NOT NULL REFERENCES ingestion_runs (id),
    job_id BLOB,
    not_before TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    deliveries INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    lease_until TEXT,
    last_error TEXT,
    trace TEXT,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX work_due ON work (coalesce(lease_until, not_before), id);
CREATE INDEX work_by_run ON work (run_id);
CREATE INDEX work_by_version ON work (version_id);

CREATE TABLE dead_letters (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    step_key TEXT NOT NULL,
    step TEXT NOT NULL,
    document_id BLOB NOT NULL,
    version_id BLOB NOT NULL,
    run_id BLOB NOT NULL,
    source_uri TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    error_code TEXT NOT NULL,
    error_message TEXT NOT NULL,
    error_hint TEXT,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX dead_letters_by_tenant ON dead_letters (tenant_id, id);
CREATE UNIQUE INDEX one_dead_letter_per_step ON dead_letters (step_key);

CREATE TABLE ledger (
    document_id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    kind TEXT NOT NULL,
    version_id BLOB,
    generation_id BLOB,
    content_hash BLOB,
    root_hash BLOB,
    at TEXT NOT NULL,
    by_user BLOB,
    prev BLOB,
    hash BLOB NOT NULL,
    PRIMARY KEY (document_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_keys (
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    key TEXT NOT NULL,
    request BLOB NOT NULL,
    response TEXT,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (expires_at);

CREATE TABLE events (
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    id INTEGER NOT NULL,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    run_id BLOB,
    document_id BLOB,
    job_id BLOB,
    data TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_by_age ON events (at);
