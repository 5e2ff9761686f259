-- Status counts these rows, and at a hundred thousand documents walking their tables took it a
-- fifth of a second. Each of these holds all that one of its counts asks for.
CREATE INDEX work_of_a_tenant ON work (tenant_id, lease_until, not_before);
CREATE INDEX waiting_runs ON ingestion_runs (tenant_id) WHERE waiting IS NOT NULL;
-- As before, and with the column its own condition names: without it SQLite reads the rows too.
DROP INDEX open_activations;
CREATE INDEX open_activations
    ON activations (generation_id, closed_at, number, needs_flush, chunks)
    WHERE closed_at IS NULL;
