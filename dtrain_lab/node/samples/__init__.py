"""What a node agent measures: its ranks, their GPUs, and the whole host."""
