-- Above zero while the file may hold what a purge deleted. Purges before this one left it there.
INSERT INTO counters (name, last)
SELECT 'unscrubbed', EXISTS (SELECT 1 FROM ledger WHERE kind = 'purged');
