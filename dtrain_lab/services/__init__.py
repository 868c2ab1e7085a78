"""Services: what every door does, written once: launch, find, reach and stop worlds; profiles; records.

Runs in the Jupyter server, in kernels and in terminals. May import back-ends and core, never a door.
"""
