"""The debugger in a rank: pydevd in the rank's own process, driven over a socket pair.

`debugger` serves requests of clusters and `job_debugger` those of jobs; `tracing` has pydevd's private names.
"""
