-- What status tells, counted as it changes: counting the rows took as long as there were rows.
-- A tally belongs to a tenant, or, where answering documents are counted, to a generation. All
-- writes go through one connection here, so that one shard is enough.
CREATE TABLE tallies (
    scope BLOB NOT NULL,
    kind TEXT NOT NULL,
    shard INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (scope, kind, shard)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER document_came AFTER INSERT ON documents BEGIN
    INSERT INTO tallies VALUES (new.tenant_id, 'documents', 0, 1)
    ON CONFLICT (scope, kind, shard) DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER document_went AFTER DELETE ON documents BEGIN
    INSERT INTO tallies VALUES (old.tenant_id, 'documents', 0, -1)
    ON CONFLICT (scope, kind, shard) DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER run_came AFTER INSERT ON ingestion_runs BEGIN
    INSERT INTO tallies VALUES (new.tenant_id, 'runs.' || new.status, 0, 1)
    ON CONFLICT (scope, kind, shard) DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER run_went AFTER DELETE ON ingestion_runs BEGIN
    INSERT INTO tallies VALUES (old.tenant_id, 'runs.' || old.status, 0, -1)
    ON CONFLICT (scope, kind, shard) DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER run_moved AFTER UPDATE OF status ON ingestion_runs
WHEN new.status <> old.status BEGIN
    INSERT INTO tallies VALUES
        (old.tenant_id, 'runs.' || old.status, 0, -1),
        (new.tenant_id, 'runs.' || new.status, 0, 1)
    ON CONFLICT (scope, kind, shard) DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER activation_came AFTER INSERT ON activations
WHEN new.closed_at IS NULL BEGIN
    INSERT INTO tallies VALUES
        (new.generation_id, 'active.documents', 0, 1),
        (new.generation_id, 'active.chunks', 0, new.chunks)
    ON CONFLICT (scope, kind, shard) DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER activation_went AFTER DELETE ON activations
WHEN old.closed_at IS NULL BEGIN
    INSERT INTO tallies VALUES
        (old.generation_id, 'active.documents', 0, -1),
        (old.generation_id, 'active.chunks', 0, -old.chunks)
    ON CONFLICT (scope, kind, shard) DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER activation_moved AFTER UPDATE OF closed_at, chunks ON activations
WHEN (new.closed_at IS NULL) <> (old.closed_at IS NULL) OR new.chunks <> old.chunks BEGIN
    INSERT INTO tallies VALUES
        (new.generation_id, 'active.documents', 0,
         (new.closed_at IS NULL) - (old.closed_at IS NULL)),
        (new.generation_id, 'active.chunks', 0,
         new.chunks * (new.closed_at IS NULL) - old.chunks * (old.closed_at IS NULL))
    ON CONFLICT (scope, kind, shard) DO UPDATE SET n = n + excluded.n;
END;

INSERT INTO tallies
SELECT tenant_id, 'documents', 0, count(*) FROM documents GROUP BY tenant_id
UNION ALL
SELECT tenant_id, 'runs.' || status, 0, count(*) FROM ingestion_runs GROUP BY tenant_id, status
UNION ALL
SELECT generation_id, 'active.documents', 0, count(*)
FROM activations WHERE closed_at IS NULL GROUP BY generation_id
UNION ALL
SELECT generation_id, 'active.chunks', 0, sum(chunks)
FROM activations WHERE closed_at IS NULL GROUP BY generation_id;
