-- Whatever else nothing told of, noted once more as runs and jobs are: a document's row, the parts jobs
-- have in its removals, a knowledge base with its generations. `owner` is whose note it is and takes it along when it is purged, `subject` is
-- the row it is of. Of what was, it is noted as it is found.
CREATE TABLE witnesses (
    owner BLOB NOT NULL,
    kind TEXT NOT NULL,
    subject BLOB NOT NULL,
    facts TEXT NOT NULL,
    sum BLOB NOT NULL,
    PRIMARY KEY (owner, kind, subject)
) STRICT, WITHOUT ROWID;
