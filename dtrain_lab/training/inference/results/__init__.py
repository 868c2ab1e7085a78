"""Results of `dt.predict`: from outputs of batches to tensors on all ranks, or to a file on disk."""
