-- The last entry of a document's ledger, by hash: a chain alone does not show that its end is gone.
ALTER TABLE documents ADD COLUMN ledger_head BLOB;
UPDATE documents SET ledger_head =
    (SELECT l.hash FROM ledger l WHERE l.document_id = documents.id ORDER BY l.seq DESC LIMIT 1);
