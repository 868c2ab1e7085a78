"""Profiles on disk, checks of their nodes, and the Python that they run."""
