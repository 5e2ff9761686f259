-- What each batch of a job met, noted as it was taken in: documents begun, and documents skipped.
-- What it could not take in stands among the job's problems. Nothing else told how many documents a
-- job has met, as claims go with what is purged. Of jobs that were, one batch stands for all.
CREATE TABLE job_batches (
    job_id BLOB NOT NULL REFERENCES jobs (id),
    position INTEGER NOT NULL,
    begun INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;
INSERT INTO job_batches (job_id, position, begun, skipped)
SELECT id, 1, docs_seen - docs_skipped - docs_refused, docs_skipped FROM jobs
WHERE docs_seen > docs_refused;
