"""Debugger sessions of a client (kernel, terminal, Python, editor) with the ranks of a cluster or job.

`debug_session` does the I/O around the pure state in `dtrain_lab.debugger`; `editor` serves editors over DAP.
"""
