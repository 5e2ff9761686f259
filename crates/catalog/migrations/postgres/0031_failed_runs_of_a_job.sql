-- How far a job is, is asked ten times a second: of its runs that have ended only those count that
-- failed since it last began.
CREATE INDEX failed_runs_of_a_job ON ingestion_runs (job_id, counted_in, stage)
    WHERE status = 'failed';
