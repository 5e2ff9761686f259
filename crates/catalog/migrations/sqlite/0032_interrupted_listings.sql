-- Why the listing of a job was interrupted. It goes on when its lease runs out.
ALTER TABLE jobs ADD COLUMN waiting TEXT;
