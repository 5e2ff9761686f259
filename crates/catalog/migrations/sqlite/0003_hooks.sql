-- What others tell us is signed with a source's secret; what we tell others, with a webhook's.

CREATE TABLE source_secrets (
    source_id BLOB PRIMARY KEY REFERENCES ingestion_sources (id),
    secret TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;

CREATE TABLE webhooks (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    url TEXT NOT NULL,
    kinds TEXT NOT NULL,
    secret TEXT NOT NULL,
    created_by BLOB,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX webhooks_by_tenant ON webhooks (tenant_id, id);

CREATE TABLE webhook_deliveries (
    id BLOB PRIMARY KEY,
    webhook_id BLOB NOT NULL REFERENCES webhooks (id),
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    event_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at TEXT NOT NULL,
    last_status INTEGER,
    last_error TEXT,
    created_at TEXT NOT NULL,
    ended_at TEXT
) STRICT;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_by_hook ON webhook_deliveries (webhook_id, id);
