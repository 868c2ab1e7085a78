"""Debuggers of editors: their additional requests compared with JupyterLab's, and their line numbers.
Pure."""
