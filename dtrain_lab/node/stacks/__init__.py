"""Stacks of ranks that do not answer themselves."""
