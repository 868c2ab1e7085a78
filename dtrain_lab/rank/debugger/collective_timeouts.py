"""Lifts the time-outs of collectives while a debugger is attached, so that a paused rank breaks no group.

PyTorch applies a new time-out to later operations only: an operation in flight keeps its own.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

LIFTED = timedelta(hours=24)


class Timeouts:
    """Lifts and restores the time-outs of this rank's process groups."""

    def __init__(self) -> None:
        self._usual: weakref.WeakKeyDictionary[Any, timedelta] = weakref.WeakKeyDictionary()
        self._lifted = False
        self._watching = False

    def lift(self) -> None:
        """Raise the time-outs of all groups, also of groups made later, to 24 hours."""
        if self._lifted or "torch" not in sys.modules:  # another framework trains here
            return
        self._lifted = True
        from dtrain_lab.rank.torch import groups

        for group in groups.live_groups():
            self._raise(group)
        if not self._watching:
            self._watching = True
            groups.on_new_group(self._around)

    def restore(self) -> None:
        """Restore the time-outs from before `lift`."""
        if not self._lifted:
            return
        self._lifted = False
        from dtrain_lab.rank.torch import group_backends, groups

        for group, usual in list(self._usual.items()):
            if groups.is_live(group):
                group_backends.set_timeout(usual, group)
        self._usual.clear()

    def _around(self, make: Callable[[], Any]) -> None:
        group = make()
        if self._lifted and group is not None:
            self._raise(group)

    def _raise(self, group: Any) -> None:
        from dtrain_lab.rank.torch import group_backends

        usual = group_backends.timeout_of(group)
        if usual is not None:
            self._usual[group] = usual
            group_backends.set_timeout(LIFTED, group)
