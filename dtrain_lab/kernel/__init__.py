"""The kernel side of notebooks: `%%distributed`, `%distributed`, the ranks' output, widgets and debugger.

A client. May import api and services; never the server or the terminal.
"""
