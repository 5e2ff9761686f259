-- What was rolled back, in each round of a build: few of many.
CREATE INDEX rolled_back ON activations (generation_id, closed_at, document_id)
    WHERE closed_at IS NULL AND cause = 'rollback';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('activations', 'rolled_back', '5000 100 100 1');
ANALYZE sqlite_schema;
