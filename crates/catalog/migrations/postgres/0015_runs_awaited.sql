-- Runs of others that bring what a job found under way. Jobs that have ended found theirs to be
-- there; those under way count what they wait for from here on.
ALTER TABLE jobs ADD COLUMN runs_awaited bigint NOT NULL DEFAULT 0;
UPDATE jobs SET runs_awaited = (
    SELECT count(*) FROM job_versions jv
    JOIN document_versions v ON v.id = jv.version_id
    JOIN ingestion_runs r ON r.id = v.run_id AND r.status IN ('queued', 'running')
      AND r.run_type <> 'reindex' AND r.job_id IS DISTINCT FROM jv.job_id
    WHERE jv.job_id = jobs.id);
