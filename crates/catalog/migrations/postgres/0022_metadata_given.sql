-- What each of those who brought a version, or found it there, has said of it, in that order: what
-- it says is all of this, the later over the earlier. A job that is canceled has said nothing.
CREATE TABLE metadata_given (
    version_id uuid NOT NULL REFERENCES document_versions (id),
    position bigint NOT NULL,
    job_id uuid,
    metadata jsonb NOT NULL,
    PRIMARY KEY (version_id, position)
);
INSERT INTO metadata_given (version_id, position, job_id, metadata)
SELECT id, 0, NULL, metadata FROM document_versions WHERE metadata <> '{}';
