-- A replay asked for twice is answered as the first time.
CREATE TABLE replayed_letters (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    version_id uuid NOT NULL,
    run_id uuid NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX replayed_letters_by_version ON replayed_letters (version_id);
