"""Core: what the product knows, as values and pure functions. No socket, no process, no clock, no torch.

Imported by every process. May import the standard library, msgspec and IPython's input transformer only.
"""
