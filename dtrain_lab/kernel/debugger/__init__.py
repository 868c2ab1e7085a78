"""The notebook's side of the debugger: its requests, breakpoints of earlier cells, failed cells."""
