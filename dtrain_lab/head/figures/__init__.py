"""Figures and verdicts of a world, its history, and the snapshot that clients get."""
