"""Debuggers of editors: what they ask for beyond JupyterLab, and how they count lines. Pure."""
