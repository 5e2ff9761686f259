-- A job that met a document purged since: what it was configured with goes when it has ended and
-- nothing it met is left. Purges before this one left addresses and file names behind.
ALTER TABLE jobs ADD COLUMN purged INTEGER NOT NULL DEFAULT FALSE;
CREATE INDEX purged_jobs ON jobs (id) WHERE purged;

UPDATE ingestion_runs SET source_uri = 'purged://', error_hint = NULL,
    error_message = CASE WHEN error_code IS NULL THEN NULL ELSE 'the document was purged' END
WHERE document_id IN (SELECT document_id FROM ledger WHERE kind = 'purged')
  AND version_id NOT IN (SELECT id FROM document_versions);
UPDATE uploads SET filename = 'purged', object_key = 'purged/' || lower(hex(id))
WHERE document_id IN (SELECT document_id FROM ledger WHERE kind = 'purged')
  AND document_id NOT IN (SELECT id FROM documents);
UPDATE jobs SET purged = TRUE
WHERE id IN (SELECT job_id FROM ingestion_runs WHERE source_uri = 'purged://');
UPDATE counters SET last = 1
WHERE name = 'unscrubbed' AND EXISTS (SELECT 1 FROM ledger WHERE kind = 'purged');
