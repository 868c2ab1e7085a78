"""Implementation of `dt.predict` and `dt.evaluate`. Runs in ranks, or in one process, with torch.

`batch_shares` (pure): which batches a rank takes, and in which rounds. `rank_exchange`: how ranks report
their work and fail together. `inputs`, `model`: from a batch to an output. `results`: from outputs to one
result in order, or to files that survive a crash. `loop` runs all of it; `metrics` is for `dt.evaluate`.
"""
