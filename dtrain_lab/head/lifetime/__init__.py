"""How long a world lives: leases, idleness, the scheduler's limit, and its record on disk."""
