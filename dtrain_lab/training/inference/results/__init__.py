"""Results of a call: from outputs of batches to columns, tables, and files on disk."""
