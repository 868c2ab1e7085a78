"""Profiles: their files, the check of their nodes, sign-in to hosts, slots, and the Python that ranks run."""
