"""This user's clusters: start, find, connect to, resize and stop them; heads kept warm for the next start."""
