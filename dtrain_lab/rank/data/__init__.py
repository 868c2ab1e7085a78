"""Variables of a rank: `push` and `pull`, copies for a restarted rank, fingerprints for `diff`."""
