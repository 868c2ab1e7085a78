"""Debugging all ranks at once, as a value: each rank is a thread of the debug adapter protocol (DAP).

Runs wherever a debugger is held (notebook kernel, terminal). Pure: imports core only.
"""
