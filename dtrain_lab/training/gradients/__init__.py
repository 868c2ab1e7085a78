"""Averaging of gradients: less often, in fewer bytes, in buckets of another size."""
