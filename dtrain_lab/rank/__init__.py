"""A rank: one process per GPU or CPU slot, forked with torch loaded; in a cluster an ipyparallel engine.

Runs in the rank's own process. May import training and the subjects, never services or clients.
"""
