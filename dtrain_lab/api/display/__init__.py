"""How Python displays what it returns, and how far something is that it waits for."""
