"""Jobs and sweeps in the terminal."""
