"""Implementation of `dt.predict` and `dt.evaluate`. Runs in ranks, or in one process, with torch.

`shares` (pure): which batches a rank takes, and in which rounds. `ranks`: how ranks meet, and fail together.
`setup`, `source`: the arguments, and the dataset. `inputs`, `model`: from a batch to an output.
`outputs`, `gather`: from outputs to one result in order. `parts`, `columns`, `tables`: results as files,
kept over a crash. `loop` runs it all; `metrics` is for `dt.evaluate`.
"""
