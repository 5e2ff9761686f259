-- What is said of a version in one place only, noted once more when it is finished, and whenever it
-- is changed since: `facts` is JSON, `claims` stands for the jobs that claim it, `sum` for both. A
-- witness outlives the row it tells of, should that be lost. Of versions that were, those that have
-- ended are noted as they are found.
CREATE TABLE version_witnesses (
    version_id uuid PRIMARY KEY,
    facts text NOT NULL,
    claims bytea NOT NULL,
    sum bytea NOT NULL
);
