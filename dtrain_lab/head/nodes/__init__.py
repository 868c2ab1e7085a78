"""Nodes as the head sees them: their agents, the network between them, and ipyparallel's controller."""
