-- What nothing else told of. The source's order stands with a sum of its own and once more with
-- the run; of versions made before there is neither. A job counts how often it began anew, and a
-- run knows in which of these it was counted.
ALTER TABLE document_versions ADD COLUMN order_sum BLOB;
ALTER TABLE ingestion_runs ADD COLUMN source_order TEXT;
ALTER TABLE jobs ADD COLUMN beginnings INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ingestion_runs ADD COLUMN counted_in INTEGER;
UPDATE ingestion_runs SET counted_in = 0
WHERE job_id IS NOT NULL AND status NOT IN ('queued', 'running')
  AND finished_at >= (SELECT j.started_at FROM jobs j WHERE j.id = ingestion_runs.job_id);
