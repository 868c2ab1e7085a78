"""`dt.per_rank_batch` and `dt.global_batch`: samples per rank, and samples of all ranks."""

from __future__ import annotations

from dtrain_lab.errors import BadRequest
from dtrain_lab.training import ranks
from dtrain_lab.training.rank_hooks import hooks

_chosen: list[int] = []
"""The last batch that `per_rank_batch` returned."""


def per_rank_batch(global_batch: int) -> int:
    """Samples that each rank takes of a global batch: global batch // ranks.

    If the global batch can't be divided evenly, the remainder is dropped, and rank 0 prints a note once.

    Args:
        global_batch: samples of all ranks in one batch.

    Returns:
        Samples per rank.

    Raises:
        BadRequest: `global_batch` is not a whole number of 1 or more, or is smaller than the number of ranks.
    """
    size = ranks.world_size()
    _positive("dt.per_rank_batch", "global batch", global_batch)
    if global_batch < size:
        raise BadRequest(
            f"dt.per_rank_batch: a global batch of {global_batch} is less than the {size} ranks.",
            f"Take a global batch of {size} or more, or fewer ranks.",
            code="batch_too_small",
        )
    each, dropped = divmod(global_batch, size)
    if dropped:
        ranks.say(
            f"dt.per_rank_batch: a global batch of {global_batch} can't be divided among {size} ranks: each "
            f"rank takes {each}, and the global batch is {each * size} ({dropped} dropped)."
        )
    _chosen[:] = [each]
    hooks.forget_batch()
    return each


def global_batch(per_rank_batch: int | None = None) -> int:
    """Samples of all ranks in one batch: per-rank batch × ranks.

    Keeping the per-rank batch while ranks are added (weak scaling) lets the global batch grow, so an epoch
    has fewer steps. Gradient accumulation is not counted: with `dt.optimize(…,
    gradient_accumulation_steps=k)` the optimizer sees k global batches at once.

    Args:
        per_rank_batch: samples per rank; by default the size of the last training batch that the monitor
            has measured; after a call of `dt.per_rank_batch`, its result, until training continues.

    Returns:
        Samples.

    Raises:
        BadRequest: `per_rank_batch` is not a whole number of 1 or more, or is omitted and unknown.
    """
    if per_rank_batch is None:
        per_rank_batch = _current_batch()
        if not per_rank_batch:
            raise BadRequest(
                "dt.global_batch: no per-rank batch is known yet.",
                "Give the per-rank batch, call dt.per_rank_batch first, or train a step with the monitor on.",
                code="batch_unknown",
            )
    _positive("dt.global_batch", "per-rank batch", per_rank_batch)
    return per_rank_batch * ranks.world_size()


def _current_batch() -> int:
    """The batch of training since `per_rank_batch` was called, else what that returned; 0 if unknown."""
    return hooks.batch() or (_chosen[0] if _chosen else 0)


def _positive(function: str, name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadRequest(
            f"{function}: the {name} is {value!r}; it must be a whole number of 1 or more.", code="bad_batch"
        )
