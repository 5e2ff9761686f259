-- What a run says once it has ended, and what a job says of itself, noted once more: `facts` is JSON,
-- `sum` stands for it and for whose it is. A witness outlives the row it tells of, should that be
-- lost; the runs of a purged document have none. Of what was, it is noted as it is found.
CREATE TABLE run_witnesses (
    document_id BLOB NOT NULL,
    run_id BLOB NOT NULL,
    facts TEXT NOT NULL,
    sum BLOB NOT NULL,
    PRIMARY KEY (document_id, run_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_witnesses (
    tenant_id BLOB NOT NULL,
    job_id BLOB NOT NULL,
    facts TEXT NOT NULL,
    sum BLOB NOT NULL,
    PRIMARY KEY (tenant_id, job_id)
) STRICT, WITHOUT ROWID;
