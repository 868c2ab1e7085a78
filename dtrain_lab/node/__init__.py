"""The node agent: one process per node that makes its ranks, measures them, and learns of their deaths.

`python -m dtrain_lab.node` runs it, started by the head (on its own node) or by a back-end. A second
process, the fork server, holds torch and forks. May import rank and core, never services or doors.
"""
