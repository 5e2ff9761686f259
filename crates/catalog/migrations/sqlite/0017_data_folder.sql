-- The data folder whose index and objects the rows of this catalog tell of: the first that opened
-- it. A copy of the catalog belongs to none until it is opened.
CREATE TABLE data_folder (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    id BLOB NOT NULL,
    place TEXT NOT NULL,
    bound_at TEXT NOT NULL
) STRICT;
