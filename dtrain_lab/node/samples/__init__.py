"""Samples that a node agent takes: of its ranks, of their GPUs, and of the whole host."""
