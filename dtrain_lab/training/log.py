"""`dt.log(step, loss=…)`: records the user's own values."""

from __future__ import annotations

import math
import os
import sys
import time
from functools import partial
from typing import Any

import msgspec

from dtrain_lab.errors import BadValue
from dtrain_lab.jobs.environment_variables import of_other_framework
from dtrain_lab.training import ranks
from dtrain_lab.training.rank_hooks import hooks
from dtrain_lab.wire.jobs.logged import ValuesLine

_means: list[tuple[Any, Any]] = []
"""The process group, and the object that averages over it."""


def log(step: int, average: bool | int = False, **values: Any) -> None:
    """Record values of a step, which are charted beside throughput.

    By default, rank 0's values are recorded, and other ranks return at once. With `average`, the mean over
    all ranks is recorded; call it on all of them. Averaging is not a collective: each rank hands its values
    in and continues (about 0.1 ms), and ranks that log different steps don't wait for each other. If a rank's
    values are missing for 10 seconds, the mean of the others is recorded, with a message.

    Args:
        step: training step.
        average: True records means over ranks; a number n does in every n-th step (0, n, 2n, …), and
            nothing is recorded in the steps between.
        **values: numbers, or tensors with one element.

    Raises:
        TypeError: a value is not a number.
        BadValue: `step` is not a whole number, a value is not a number, or `average` is 0, negative or not a
            whole number.
    """
    if not isinstance(average, int) or (average is not False and average < 1):
        raise BadValue(
            f"dt.log: average is {average!r}, but must be True, False or a whole number above 0.",
            "Write for example dt.log(step, average=10, loss=loss), for the mean of each 10th step.",
        )
    number = _whole(step)
    if average and number % int(average):
        return
    if average and of_other_framework():
        ranks.say("dt.log: ranks of this framework can't average: values of rank 0 are recorded.")
    elif average and ranks.grouped():
        plain = {name: _number(name, value) for name, value in values.items()}
        means = _averages()
        if means is not None:
            means.put(number, plain)
            return
        ranks.say("dt.log: ranks started in this way can't average: values of rank 0 are recorded.")
    elif average and ranks.world_size() > 1:
        ranks.say("dt.log: without a process group there is no mean: values of rank 0 are recorded.")
    if int(os.environ.get("RANK", "0")) != 0:
        return
    _record(number, {name: _number(name, value) for name, value in values.items()}, time.time())


def _whole(step: Any) -> int:
    """The step as a number; it may be a tensor with one element."""
    try:
        return int(step)
    except (TypeError, ValueError, OverflowError):
        raise BadValue(
            f"dt.log: step is {step!r}, but must be a whole number.",
            "Write for example dt.log(step, loss=loss).",
        ) from None


def _record(step: int, values: dict[str, float], at: float, averaged: bool = False) -> None:
    hooks.log(step, values, at, averaged)


def _averages() -> Any:
    """The object that averages over the current process group; None if its ranks can't."""
    import torch.distributed as dist

    group = dist.group.WORLD
    if not _means or _means[0][0] is not group:
        from dtrain_lab.training import averages, store_exchange

        store, means = averages.store_of_group(), None
        if store is not None:
            record = partial(_record, averaged=True)
            means = averages.Means(store, dist.get_rank(), dist.get_world_size(), record, store_exchange.cell)
        _means[:] = [(group, means)]
    return _means[0][1]


def settle() -> None:
    """Called at a cell's end: wait a moment for means that are still being collected."""
    if _means and _means[0][1] is not None:
        _means[0][1].settle()


def to_file(path: str) -> None:
    """Append all values to a file, one line of JSON per call of `log`."""
    file = open(path, "a", buffering=1)  # open as long as the process lives

    def write(step: int, values: dict[str, float], at: float, averaged: bool) -> None:
        finite = {k: v for k, v in values.items() if math.isfinite(v)}
        strange = {k: str(v) for k, v in values.items() if not math.isfinite(v)}
        line = msgspec.json.encode(ValuesLine(step, {**finite, **strange}, at, averaged)).decode()
        try:
            file.write(line + "\n")
        except OSError as error:  # a full disk must not end the training
            print(f"dtrain-lab: dt.log: {error.strerror}", file=sys.stderr)

    hooks.log = write


def _number(name: str, value: Any) -> float:
    item = getattr(value, "item", None)
    try:
        return float(item() if callable(item) else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadValue(
            f"dt.log: {name} is of type {type(value).__name__}, but must be a number.",
            f"Write for example dt.log(step, {name}=float(…)).",
        ) from error
