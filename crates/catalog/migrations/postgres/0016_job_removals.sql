-- Documents a job removed because its source shows them no more, or found removed so by another:
-- when the last of these jobs is canceled, they answer again. `at` is what `documents.removed_at`
-- became, the rest what it and its order were before.
CREATE TABLE job_removals (
    job_id uuid NOT NULL REFERENCES jobs (id),
    document_id uuid NOT NULL REFERENCES documents (id),
    at timestamptz NOT NULL,
    before_at timestamptz,
    before_order text,
    PRIMARY KEY (job_id, document_id, at)
);
CREATE INDEX removals_of_a_document ON job_removals (document_id, at);
