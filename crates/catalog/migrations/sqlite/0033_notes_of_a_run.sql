-- For whom a run was noted: asked of each that says it is another document's, and of each that is mended.
CREATE INDEX notes_of_a_run ON run_witnesses (run_id);
