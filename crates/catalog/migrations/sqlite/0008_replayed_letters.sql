-- A replay asked for twice is answered as the first time.
CREATE TABLE replayed_letters (
    id BLOB PRIMARY KEY,
    tenant_id BLOB NOT NULL REFERENCES tenants (id),
    version_id BLOB NOT NULL,
    run_id BLOB NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX replayed_letters_by_version ON replayed_letters (version_id);
