-- Originals whose last version has been forgotten, until their bytes are deleted: whoever dies in
-- between leaves a note of them.
CREATE TABLE freed_originals (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    content_hash bytea NOT NULL,
    PRIMARY KEY (tenant_id, content_hash)
);
