-- What Prep wrote, by hash, so that a changed object is known from a whole one. Versions
-- made before have none.
ALTER TABLE document_versions ADD COLUMN text_hash BLOB;
ALTER TABLE document_versions ADD COLUMN parsed_hash BLOB;
ALTER TABLE document_units ADD COLUMN artifact_hash BLOB;
