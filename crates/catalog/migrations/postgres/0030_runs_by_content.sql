-- Which runs brought an original: asked of one no version and no ledger tells of, before it is deleted.
CREATE INDEX runs_by_content ON ingestion_runs (tenant_id, content_hash);
