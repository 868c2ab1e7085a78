"""Cells as values: rank sets, the cell queue, merged output, errors by cell and line.

Pure: no socket, no process, no torch.
"""
