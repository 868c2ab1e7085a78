"""Time-outs of collectives, lifted while somebody debugs: reading variables must break no group.

PyTorch applies a new time-out to later operations only: one in flight keeps its own.
"""

from __future__ import annotations

import weakref
from datetime import timedelta
from typing import Any

from torch.distributed import distributed_c10d as c10d

LIFTED = timedelta(hours=24)


class Timeouts:
    """The time-outs of this rank's groups."""

    def __init__(self) -> None:
        self._usual: weakref.WeakKeyDictionary[Any, timedelta] = weakref.WeakKeyDictionary()
        self._lifted = False
        self._made: Any = None

    def lift(self) -> None:
        """Raise those of all groups, and of groups that are made from now on."""
        if self._lifted:
            return
        self._lifted = True
        for group in list(c10d._world.pg_map):
            self._raise(group)
        made = self._made = c10d._new_process_group_helper

        def new_group(*args: Any, **kwargs: Any) -> Any:
            result = made(*args, **kwargs)
            if self._lifted and isinstance(result[0], c10d.ProcessGroup):
                self._raise(result[0])
            return result

        c10d._new_process_group_helper = new_group

    def restore(self) -> None:
        """Put them back."""
        if not self._lifted:
            return
        self._lifted = False
        if self._made is not None:
            c10d._new_process_group_helper = self._made
        for group, usual in list(self._usual.items()):
            if group in c10d._world.pg_map:
                c10d._set_pg_timeout(usual, group)
        self._usual.clear()

    def _raise(self, group: Any) -> None:
        usual = _timeout(group)
        if usual is not None:
            self._usual[group] = usual
            c10d._set_pg_timeout(LIFTED, group)


def _timeout(group: Any) -> timedelta | None:
    """What a group has now; None where its back-end has none that can be set."""
    for device in group._device_types:
        backend = group._get_backend(device)
        if isinstance(backend, c10d.ProcessGroupGloo) or type(backend).__name__ == "ProcessGroupNCCL":
            timeout: timedelta = backend.options._timeout
            return timeout
    return None
