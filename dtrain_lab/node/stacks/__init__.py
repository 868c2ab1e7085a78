"""Stacks of ranks that don't answer: read by the node agent, with the help of a signal."""
