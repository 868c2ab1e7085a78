"""Metrics of ranks and worlds, verdicts on them, and their history, as clients see them."""
