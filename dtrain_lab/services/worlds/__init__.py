"""Worlds of this user: start, find, connect to, stop; warm heads; records by which heads are found."""
