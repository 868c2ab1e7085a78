"""Nodes as the head sees them: agents, the network between them, ipyparallel's controller."""
