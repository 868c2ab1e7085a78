"""Services that all clients share: launch, find, connect to and stop worlds; jobs; profiles; records.

Runs in the Jupyter server, in kernels and in terminals. May import back-ends and the subjects, never a
client.
"""
