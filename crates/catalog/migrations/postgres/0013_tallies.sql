-- What status tells, counted as it changes: counting the rows took as long as there were rows.
-- A tally belongs to a tenant, or, where answering documents are counted, to a generation. Each
-- connection counts in a shard of its own, so that no two writers wait for one row.
CREATE TABLE tallies (
    scope uuid NOT NULL,
    kind text NOT NULL,
    shard bigint NOT NULL,
    n bigint NOT NULL,
    PRIMARY KEY (scope, kind, shard)
) WITH (fillfactor = 50);

CREATE FUNCTION tally(counted uuid, what text, more bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO tallies AS t (scope, kind, shard, n)
    VALUES (counted, what, pg_backend_pid(), more)
    ON CONFLICT (scope, kind, shard) DO UPDATE SET n = t.n + excluded.n
$$;

CREATE FUNCTION documents_came() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tally(tenant_id, 'documents', count(*)) FROM came GROUP BY tenant_id;
    RETURN NULL;
END $$;
CREATE TRIGGER documents_came AFTER INSERT ON documents
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION documents_came();
CREATE FUNCTION documents_went() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tally(tenant_id, 'documents', -count(*)) FROM went GROUP BY tenant_id;
    RETURN NULL;
END $$;
CREATE TRIGGER documents_went AFTER DELETE ON documents
    REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION documents_went();

CREATE FUNCTION runs_came() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tally(tenant_id, 'runs.' || status, count(*)) FROM came GROUP BY tenant_id, status;
    RETURN NULL;
END $$;
CREATE TRIGGER runs_came AFTER INSERT ON ingestion_runs
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION runs_came();
CREATE FUNCTION runs_went() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tally(tenant_id, 'runs.' || status, -count(*)) FROM went GROUP BY tenant_id, status;
    RETURN NULL;
END $$;
CREATE TRIGGER runs_went AFTER DELETE ON ingestion_runs
    REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION runs_went();
-- By row, so that a heartbeat costs nothing: a status is changed one run at a time.
CREATE FUNCTION run_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tally(old.tenant_id, 'runs.' || old.status, -1);
    PERFORM tally(new.tenant_id, 'runs.' || new.status, 1);
    RETURN NULL;
END $$;
CREATE TRIGGER run_moved AFTER UPDATE OF status ON ingestion_runs
    FOR EACH ROW WHEN (new.status <> old.status) EXECUTE FUNCTION run_moved();

CREATE FUNCTION activations_came() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tally(generation_id, 'active.documents', count(*)),
            tally(generation_id, 'active.chunks', sum(chunks)::bigint)
    FROM came WHERE closed_at IS NULL GROUP BY generation_id;
    RETURN NULL;
END $$;
CREATE TRIGGER activations_came AFTER INSERT ON activations
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION activations_came();
CREATE FUNCTION activations_went() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tally(generation_id, 'active.documents', -count(*)),
            tally(generation_id, 'active.chunks', -sum(chunks)::bigint)
    FROM went WHERE closed_at IS NULL GROUP BY generation_id;
    RETURN NULL;
END $$;
CREATE TRIGGER activations_went AFTER DELETE ON activations
    REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION activations_went();
CREATE FUNCTION activation_moved() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_open bigint := (new.closed_at IS NULL)::int;
    was_open bigint := (old.closed_at IS NULL)::int;
BEGIN
    PERFORM tally(new.generation_id, 'active.documents', is_open - was_open);
    PERFORM tally(new.generation_id, 'active.chunks',
        new.chunks * is_open - old.chunks * was_open);
    RETURN NULL;
END $$;
CREATE TRIGGER activation_moved AFTER UPDATE OF closed_at, chunks ON activations
    FOR EACH ROW
    WHEN ((new.closed_at IS NULL) <> (old.closed_at IS NULL) OR new.chunks <> old.chunks)
    EXECUTE FUNCTION activation_moved();

INSERT INTO tallies
SELECT tenant_id, 'documents', 0, count(*) FROM documents GROUP BY tenant_id
UNION ALL
SELECT tenant_id, 'runs.' || status, 0, count(*) FROM ingestion_runs GROUP BY tenant_id, status
UNION ALL
SELECT generation_id, 'active.documents', 0, count(*)
FROM activations WHERE closed_at IS NULL GROUP BY generation_id
UNION ALL
SELECT generation_id, 'active.chunks', 0, sum(chunks)::bigint
FROM activations WHERE closed_at IS NULL GROUP BY generation_id;
