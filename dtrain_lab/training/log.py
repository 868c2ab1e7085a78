"""`dt.log(step, loss=…)`: records the user's own values."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Sink = Callable[[int, dict[str, float], float], None]
_sink: list[Sink] = []


def log(step: int, **values: Any) -> None:
    """Record values of a step, which are charted beside throughput. Only rank 0 records; other ranks return.

    Args:
        step: training step.
        **values: numbers, or tensors with one element.

    Raises:
        TypeError: a value is not a number.
    """
    if int(os.environ.get("RANK", "0")) != 0:
        return
    plain = {name: _number(name, value) for name, value in values.items()}
    for sink in _sink:
        sink(int(step), plain, time.time())


def to(sink: Sink) -> None:
    """Set the function that gets all values: called with step, values and seconds since 1970."""
    _sink[:] = [sink]


def to_file(path: str) -> None:
    """Append all values to a file, one line of JSON per call of `log`."""
    file = open(path, "a", buffering=1)  # noqa: SIM115: open as long as the process lives

    def write(step: int, values: dict[str, float], at: float) -> None:
        known = {k: v for k, v in values.items() if math.isfinite(v)}
        strange = {k: str(v) for k, v in values.items() if not math.isfinite(v)}
        line = json.dumps({"at": at, "step": step, "values": {**known, **strange}})
        try:
            file.write(line + "\n")
        except OSError as error:  # a full disk must not end the training
            print(f"dtrain-lab: dt.log: {error.strerror}", file=sys.stderr)

    to(write)


def _number(name: str, value: Any) -> float:
    item = getattr(value, "item", None)
    try:
        return float(item() if callable(item) else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"dt.log: {name} is no number: {type(value).__name__}") from error
