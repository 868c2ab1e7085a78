"""Who owns the ranks: the policies, and how each rank is reached."""
