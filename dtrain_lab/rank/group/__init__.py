"""The process group of a rank: its store, how it is formed and broken, and the rank's position in it."""
