"""The debug adapter as a folder that Python runs: VS Code's Python debugger takes the path of one."""
