//! A folder of documents as a search provider: the catalogue, the full-text index, the reader.
