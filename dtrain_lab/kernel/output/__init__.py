"""Output of ranks in the notebook: lines, displays, progress bars and widgets, shown as the cell's own.

Runs in the notebook's kernel. May import what the kernel may; not the rest of the kernel's package.
"""
