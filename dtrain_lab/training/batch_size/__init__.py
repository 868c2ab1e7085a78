"""The size of a batch: what each rank takes, the largest that fits, and the learning rate for it."""
