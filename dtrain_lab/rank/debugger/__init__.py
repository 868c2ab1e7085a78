"""The debugger of a rank: pydevd in the rank's process, reached over a socket pair."""
