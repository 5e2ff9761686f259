-- For how long a job was paused, or had failed, since it began: it took no part in how fast it goes.
ALTER TABLE jobs ADD COLUMN paused_ms INTEGER NOT NULL DEFAULT 0;
