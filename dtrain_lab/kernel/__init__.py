"""What runs in the notebook's kernel: `%%distributed`, `%distributed`, and the ranks' output.

A door. May import api and services; never the server or the terminal.
"""
