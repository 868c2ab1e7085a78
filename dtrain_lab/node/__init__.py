"""The node agent: one process per node that makes its ranks, measures them, and detects their exits.

Run as `python -m dtrain_lab.node`, by the head on its own node or by a back-end. A second process, the fork
server, loads torch and forks. May import rank and the subjects, never services or clients.
"""
