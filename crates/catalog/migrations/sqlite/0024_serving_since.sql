-- When a generation began to serve: of what answered before, the index keeps only what answered
-- still. Of those that serve or served already, the last that is known of the one before.
ALTER TABLE generations ADD COLUMN serving_since TEXT;
UPDATE generations SET serving_since = created_at WHERE number = 1;
UPDATE generations SET serving_since =
    (SELECT max(coalesce(a.closed_at, a.opened_at)) FROM activations a
     JOIN generations o ON o.id = a.generation_id
     WHERE o.kb_id = generations.kb_id AND o.number < generations.number)
WHERE number > 1 AND state <> 'building';
UPDATE generations SET serving_since = created_at
WHERE serving_since IS NULL AND state <> 'building';
