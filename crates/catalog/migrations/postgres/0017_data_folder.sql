-- The data folder whose index and objects the rows of this catalog tell of: the first that opened
-- it. A copy of the catalog belongs to none until it is opened.
CREATE TABLE data_folder (
    only_row bigint PRIMARY KEY CHECK (only_row = 1),
    id uuid NOT NULL,
    place text NOT NULL,
    bound_at timestamptz NOT NULL
);
