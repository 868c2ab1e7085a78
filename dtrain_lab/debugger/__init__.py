"""Debugging all ranks at once: each rank is a thread of the debug adapter protocol (DAP).

Runs in the process that holds the debugger (notebook kernel, terminal). Pure.
"""
