-- What others tell us is signed with a source's secret; what we tell others, with a webhook's.

CREATE TABLE source_secrets (
    source_id uuid PRIMARY KEY REFERENCES ingestion_sources (id),
    secret text NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE webhooks (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    url text NOT NULL,
    kinds jsonb NOT NULL,
    secret text NOT NULL,
    created_by uuid,
    created_at timestamptz NOT NULL
);
CREATE INDEX webhooks_by_tenant ON webhooks (tenant_id, id);

CREATE TABLE webhook_deliveries (
    id uuid PRIMARY KEY,
    webhook_id uuid NOT NULL REFERENCES webhooks (id),
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    event_id bigint NOT NULL,
    kind text NOT NULL,
    payload jsonb NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts bigint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    last_status bigint,
    last_error text,
    created_at timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_by_hook ON webhook_deliveries (webhook_id, id);
