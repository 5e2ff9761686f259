-- What each of those who brought a version, or found it there, has said of it, in that order: what
-- it says is all of this, the later over the earlier. A job that is canceled has said nothing.
CREATE TABLE metadata_given (
    version_id BLOB NOT NULL REFERENCES document_versions (id),
    position INTEGER NOT NULL,
    job_id BLOB,
    metadata TEXT NOT NULL,
    PRIMARY KEY (version_id, position)
) STRICT, WITHOUT ROWID;
INSERT INTO metadata_given (version_id, position, job_id, metadata)
SELECT id, 0, NULL, metadata FROM document_versions WHERE metadata <> '{}';
