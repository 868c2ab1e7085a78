"""Figures of ranks and worlds, what is judged of them, and their past, as clients see them."""
