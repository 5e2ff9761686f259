-- How far a job is, is asked ten times a second: its runs that have ended must not count.
CREATE INDEX live_runs_of_a_job ON ingestion_runs (job_id, stage)
    WHERE status IN ('queued', 'running');
