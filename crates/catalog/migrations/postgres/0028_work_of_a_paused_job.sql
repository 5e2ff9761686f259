-- Whether a step waits because its job is paused, and for nothing else: only such a step falls due
-- when the job is resumed. Whatever waited so already was told on its run.
ALTER TABLE work ADD COLUMN paused boolean NOT NULL DEFAULT FALSE;
UPDATE work SET paused = TRUE WHERE lease_until IS NULL AND run_id IN
    (SELECT r.id FROM ingestion_runs r
     WHERE r.status IN ('queued', 'running') AND r.waiting = 'the job is paused');
