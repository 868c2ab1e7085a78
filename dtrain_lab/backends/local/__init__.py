"""The back-end `local`: worlds on this machine. Runs in clients. May import the subjects and `machine`."""
