-- Whoever speaks for a disabled tenant is refused; what it has stays.
ALTER TABLE tenants ADD COLUMN disabled INTEGER NOT NULL DEFAULT FALSE;
