"""Waiting for conditions: tests never sleep for luck."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
STEP_S = 0.02


def wait_until(condition: Callable[[], T], within_s: float, what: str) -> T:
    """Poll until a condition is true; fail with what was waited for."""
    until = time.monotonic() + within_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"waited {within_s:g} s for {what}")
        time.sleep(STEP_S)
