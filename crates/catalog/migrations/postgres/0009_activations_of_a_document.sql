-- Whether a newer version has served is asked at every activation. Without this SQLite walked
-- all activations of the generation, as many as there are documents, for each of them.
CREATE INDEX activations_of_a_document ON activations (document_id, generation_id);
