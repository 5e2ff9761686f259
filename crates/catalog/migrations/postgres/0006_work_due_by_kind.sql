-- Each kind of step is claimed by its own workers: a hundred thousand documents that wait to
-- be prepared must not be walked past for every one that waits to be extracted.
CREATE INDEX work_due_by_kind ON work (kind, coalesce(lease_until, not_before), id);
