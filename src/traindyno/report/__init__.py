"""From an answer to a table, a document, a page or a picture."""
