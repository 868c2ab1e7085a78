"""A client's debugger of a world."""
