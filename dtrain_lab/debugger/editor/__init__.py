"""What editors' debuggers send differently from JupyterLab's: dialect, arguments, line numbers. Pure."""
