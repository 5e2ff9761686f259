-- As before, but by the hash first: by tenant first it was taken for any question about a tenant's
-- runs, and status read all of them.
DROP INDEX runs_by_content;
CREATE INDEX runs_by_content ON ingestion_runs (content_hash, tenant_id);
