"""The debug adapter, as a folder that Python can run: VS Code's Python debugger expects such a path."""
