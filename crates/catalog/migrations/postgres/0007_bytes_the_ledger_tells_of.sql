-- Whether an original may go is asked for each version that is forgotten.
CREATE INDEX ledger_by_bytes ON ledger (tenant_id, content_hash);
