-- The same tables as SQLite's, in PostgreSQL's own types.

CREATE SEQUENCE fence AS bigint;

CREATE TABLE tenants (
    id uuid PRIMARY KEY,
    name text NOT NULL UNIQUE,
    last_event bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL
);

CREATE TABLE users (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    login text NOT NULL UNIQUE,
    role text NOT NULL CHECK (role IN ('admin', 'user')),
    password_hash text NOT NULL,
    disabled boolean NOT NULL DEFAULT FALSE,
    created_at timestamptz NOT NULL
);
CREATE INDEX users_by_tenant ON users (tenant_id, login);

CREATE TABLE api_keys (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    role text NOT NULL CHECK (role IN ('admin', 'user')),
    scopes jsonb NOT NULL,
    created_by uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant_id, id);

CREATE TABLE knowledge_bases (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    name text NOT NULL,
    next_number bigint NOT NULL DEFAULT 0,
    retention jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (tenant_id, name)
);

CREATE TABLE generations (
    id uuid PRIMARY KEY,
    kb_id uuid NOT NULL REFERENCES knowledge_bases (id),
    number bigint NOT NULL,
    spec jsonb NOT NULL,
    state text NOT NULL CHECK (state IN ('serving', 'building', 'retired')),
    changes bigint NOT NULL DEFAULT 0,
    rebuilt bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    UNIQUE (kb_id, number)
);
CREATE UNIQUE INDEX one_serving_generation ON generations (kb_id) WHERE state = 'serving';
CREATE UNIQUE INDEX one_building_generation ON generations (kb_id) WHERE state = 'building';

CREATE TABLE ingestion_sources (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    kb_id uuid NOT NULL REFERENCES knowledge_bases (id),
    kind text NOT NULL,
    name text NOT NULL,
    config jsonb NOT NULL,
    enabled boolean NOT NULL DEFAULT TRUE,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_success_at timestamptz,
    UNIQUE (tenant_id, name)
);

CREATE TABLE documents (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    kb_id uuid NOT NULL REFERENCES knowledge_bases (id),
    source_uri text NOT NULL,
    source_id uuid,
    latest_version uuid,
    removed_at timestamptz,
    removed_order text COLLATE "C",
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (tenant_id, kb_id, source_uri)
);
CREATE INDEX documents_by_tenant ON documents (tenant_id, id);
CREATE INDEX documents_by_kb ON documents (kb_id, id);

-- What a source last showed of each of its objects, so that a listing can be compared.
CREATE TABLE source_objects (
    source_id uuid NOT NULL REFERENCES ingestion_sources (id),
    object_key text NOT NULL,
    document_id uuid,
    etag text,
    object_version text,
    size bigint,
    source_order text COLLATE "C",
    seen_at timestamptz NOT NULL,
    seen_by uuid,
    gone_at timestamptz,
    PRIMARY KEY (source_id, object_key)
);

CREATE TABLE uploads (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    kb_id uuid NOT NULL REFERENCES knowledge_bases (id),
    object_key text NOT NULL UNIQUE,
    filename text NOT NULL,
    size bigint NOT NULL,
    media_type text,
    state text NOT NULL CHECK (state IN ('pending', 'admitted', 'failed', 'expired')),
    document_id uuid,
    run_id uuid,
    initiated_by uuid,
    error text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX uploads_by_tenant ON uploads (tenant_id, id);
CREATE INDEX uploads_pending ON uploads (expires_at) WHERE state = 'pending';

CREATE TABLE document_versions (
    id uuid PRIMARY KEY,
    document_id uuid NOT NULL REFERENCES documents (id),
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    kb_id uuid NOT NULL REFERENCES knowledge_bases (id),
    generation_id uuid NOT NULL REFERENCES generations (id),
    run_id uuid NOT NULL,
    number bigint NOT NULL,
    content_hash bytea NOT NULL,
    size bigint NOT NULL,
    media_type text,
    filename text NOT NULL,
    title text,
    language text,
    metadata jsonb NOT NULL,
    source_order text COLLATE "C" NOT NULL,
    -- Admitted outside any job: no job's cancel may remove it.
    claimed_directly boolean NOT NULL DEFAULT FALSE,
    state text NOT NULL
        CHECK (state IN ('pending', 'processing', 'ready', 'superseded', 'failed', 'canceled')),
    pass bigint NOT NULL DEFAULT 0,
    units_total bigint NOT NULL DEFAULT 0,
    units_open bigint NOT NULL DEFAULT 0 CHECK (units_open >= 0),
    last_unit text,
    -- The fences under which Prep and Finalize were answered, to answer them again.
    prep_token bigint,
    final_token bigint,
    needs_flush bigint,
    chunks bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    root_hash bytea,
    gaps jsonb NOT NULL,
    warnings jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (kb_id, number)
);
CREATE INDEX versions_by_document ON document_versions (document_id, number);
CREATE INDEX versions_by_content ON document_versions (tenant_id, content_hash);

-- One row per value: what filters look up.
CREATE TABLE version_metadata (
    kb_id uuid NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    version_id uuid NOT NULL REFERENCES document_versions (id),
    PRIMARY KEY (kb_id, key, value, version_id)
);
CREATE INDEX metadata_by_version ON version_metadata (version_id);

CREATE TABLE activations (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    kb_id uuid NOT NULL REFERENCES knowledge_bases (id),
    generation_id uuid NOT NULL REFERENCES generations (id),
    document_id uuid NOT NULL REFERENCES documents (id),
    version_id uuid NOT NULL REFERENCES document_versions (id),
    number bigint NOT NULL,
    needs_flush bigint NOT NULL,
    chunks bigint NOT NULL,
    cause text NOT NULL CHECK (cause IN ('run', 'rollback')),
    opened_by uuid,
    replaced uuid,
    -- The generation's count of changes when this row last changed.
    change bigint NOT NULL,
    opened_at timestamptz NOT NULL,
    closed_at timestamptz,
    CHECK (closed_at IS NULL OR closed_at >= opened_at)
);
CREATE UNIQUE INDEX one_open_activation ON activations (document_id, generation_id)
    WHERE closed_at IS NULL;
CREATE INDEX open_activations ON activations (generation_id, number, needs_flush, chunks)
    WHERE closed_at IS NULL;
CREATE INDEX activations_by_change ON activations (generation_id, change);
CREATE INDEX activations_by_time ON activations (generation_id, opened_at, closed_at);
CREATE INDEX activations_by_document ON activations (document_id, opened_at);
CREATE INDEX activations_by_version ON activations (version_id);

CREATE TABLE document_units (
    version_id uuid NOT NULL REFERENCES document_versions (id),
    unit text NOT NULL,
    pass bigint NOT NULL,
    position bigint NOT NULL,
    state text NOT NULL CHECK (state IN ('open', 'done', 'gap')),
    chunks bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    reused bigint NOT NULL DEFAULT 0,
    flush bigint NOT NULL DEFAULT 0,
    reason text,
    completed_at timestamptz,
    PRIMARY KEY (version_id, unit)
);

CREATE TABLE pages (
    version_id uuid NOT NULL REFERENCES document_versions (id),
    page bigint NOT NULL,
    width double precision NOT NULL,
    height double precision NOT NULL,
    PRIMARY KEY (version_id, page)
);

CREATE TABLE jobs (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    kb_id uuid NOT NULL REFERENCES knowledge_bases (id),
    source_id uuid REFERENCES ingestion_sources (id),
    status text NOT NULL
        CHECK (status IN ('not_started', 'running', 'paused', 'completed', 'failed', 'canceled')),
    config jsonb NOT NULL,
    cursor jsonb,
    exhausted boolean NOT NULL DEFAULT FALSE,
    token bigint NOT NULL DEFAULT 0,
    worker text,
    lease_until timestamptz,
    docs_seen bigint NOT NULL DEFAULT 0,
    docs_skipped bigint NOT NULL DEFAULT 0,
    docs_refused bigint NOT NULL DEFAULT 0,
    runs_open bigint NOT NULL DEFAULT 0,
    runs_failed bigint NOT NULL DEFAULT 0,
    chunks_seen bigint NOT NULL DEFAULT 0,
    chunks_processed bigint NOT NULL DEFAULT 0,
    chunks_skipped bigint NOT NULL DEFAULT 0,
    chunks_error bigint NOT NULL DEFAULT 0,
    initiated_by uuid,
    error text,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    updated_at timestamptz NOT NULL,
    finished_at timestamptz,
    heartbeat_at timestamptz,
    CHECK (chunks_seen = chunks_processed + chunks_skipped + chunks_error)
);
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, id);
CREATE UNIQUE INDEX one_job_of_a_source ON jobs (source_id)
    WHERE status IN ('running', 'paused', 'canceled');
CREATE INDEX jobs_to_drive ON jobs (status, lease_until);

CREATE TABLE job_versions (
    job_id uuid NOT NULL REFERENCES jobs (id),
    version_id uuid NOT NULL REFERENCES document_versions (id),
    outcome text NOT NULL CHECK (outcome IN ('new', 'new_version', 'skipped')),
    PRIMARY KEY (job_id, version_id)
);
CREATE INDEX jobs_of_a_version ON job_versions (version_id);

-- Files a job met and could not take in; cleared when it starts anew.
CREATE TABLE job_problems (
    job_id uuid NOT NULL REFERENCES jobs (id),
    position bigint NOT NULL,
    source_uri text,
    message text NOT NULL,
    PRIMARY KEY (job_id, position)
);

-- Runs, ledger and events outlive what they tell of: no reference to documents or versions.
CREATE TABLE ingestion_runs (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    kb_id uuid NOT NULL REFERENCES knowledge_bases (id),
    generation_id uuid NOT NULL REFERENCES generations (id),
    document_id uuid NOT NULL,
    version_id uuid NOT NULL,
    source_uri text NOT NULL,
    content_hash bytea NOT NULL,
    job_id uuid,
    source_id uuid,
    status text NOT NULL
        CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'canceled')),
    superseded boolean NOT NULL DEFAULT FALSE,
    run_type text NOT NULL,
    initiated_by uuid,
    config jsonb NOT NULL,
    chunks_created bigint NOT NULL DEFAULT 0,
    tokens_total bigint NOT NULL DEFAULT 0,
    chunks_processed bigint NOT NULL DEFAULT 0,
    chunks_skipped bigint NOT NULL DEFAULT 0,
    chunks_error bigint NOT NULL DEFAULT 0,
    error_code text,
    error_message text,
    error_hint text,
    waiting text,
    waiting_until timestamptz,
    stage text,
    trace text,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    updated_at timestamptz NOT NULL,
    finished_at timestamptz,
    heartbeat_at timestamptz
);
CREATE UNIQUE INDEX one_live_run ON ingestion_runs (document_id, generation_id, content_hash)
    WHERE status IN ('queued', 'running');
CREATE INDEX runs_by_tenant ON ingestion_runs (tenant_id, id);
CREATE INDEX runs_by_status ON ingestion_runs (tenant_id, status, id);
CREATE INDEX runs_by_document ON ingestion_runs (document_id, id);
CREATE INDEX runs_by_job ON ingestion_runs (job_id, id) WHERE job_id IS NOT NULL;
CREATE INDEX live_runs ON ingestion_runs (status, updated_at)
    WHERE status IN ('queued', 'running');

CREATE TABLE work (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    step_key text NOT NULL UNIQUE,
    kind text NOT NULL CHECK (kind IN ('prep', 'extract', 'finalize')),
    step jsonb NOT NULL,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    kb_id uuid NOT NULL,
    generation_id uuid NOT NULL,
    document_id uuid NOT NULL,
    version_id uuid NOT NULL REFERENCES document_versions (id),
    number bigint NOT NULL,
    run_id uuid NOT NULL REFERENCES ingestion_runs (id),
    job_id uuid,
    not_before timestamptz NOT NULL,
    attempts bigint NOT NULL DEFAULT 0,
    deliveries bigint NOT NULL DEFAULT 0,
    token bigint NOT NULL DEFAULT 0,
    worker text,
    lease_until timestamptz,
    last_error text,
    trace text,
    created_at timestamptz NOT NULL
);
CREATE INDEX work_due ON work (coalesce(lease_until, not_before), id);
CREATE INDEX work_by_run ON work (run_id);
CREATE INDEX work_by_version ON work (version_id);

CREATE TABLE dead_letters (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    step_key text NOT NULL,
    step jsonb NOT NULL,
    document_id uuid NOT NULL,
    version_id uuid NOT NULL,
    run_id uuid NOT NULL,
    source_uri text NOT NULL,
    attempts bigint NOT NULL,
    error_code text NOT NULL,
    error_message text NOT NULL,
    error_hint text,
    created_at timestamptz NOT NULL
);
CREATE INDEX dead_letters_by_tenant ON dead_letters (tenant_id, id);
CREATE UNIQUE INDEX one_dead_letter_per_step ON dead_letters (step_key);

CREATE TABLE ledger (
    document_id uuid NOT NULL,
    seq bigint NOT NULL,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    kind text NOT NULL,
    version_id uuid,
    generation_id uuid,
    content_hash bytea,
    root_hash bytea,
    at timestamptz NOT NULL,
    by_user uuid,
    prev bytea,
    hash bytea NOT NULL,
    PRIMARY KEY (document_id, seq)
);

CREATE TABLE idempotency_keys (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    key text NOT NULL,
    request bytea NOT NULL,
    response jsonb,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (expires_at);

CREATE TABLE events (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id bigint NOT NULL,
    at timestamptz NOT NULL,
    kind text NOT NULL,
    run_id uuid,
    document_id uuid,
    job_id uuid,
    data jsonb NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX events_by_age ON events (at);
