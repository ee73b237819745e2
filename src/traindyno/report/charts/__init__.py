"""Charts as data: pure functions from a document to an Altair specification, one file each."""
