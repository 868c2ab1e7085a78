"""ipyparallel views of a cluster, and the values that are exchanged with ranks through them.

Runs in clients, in threads that may wait. Imports ipyparallel, and the ranks' part of an exchange, when used.
"""
