"""One step of training: its batches, passes, waits in collectives, and the record of it."""
