"""Options of `dt.optimize`: gradients averaged less often, in fewer bytes, or in buckets of another size."""
