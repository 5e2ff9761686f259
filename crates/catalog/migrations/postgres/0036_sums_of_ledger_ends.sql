-- Of the end of its ledger that a document's row knows: one that was changed is told by it from one
-- that the ledger has lost. A sum is more than SQL can make: those that are there are summed up
-- when this is new to a catalog.
ALTER TABLE documents ADD COLUMN ledger_sum BYTEA;
