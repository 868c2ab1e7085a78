"""Sources of a node's ranks: forked (`fork`), spawned (`spawn`), placed by a launcher (`launcher`).

Runs in the node agent; may import what the agent may.
"""
