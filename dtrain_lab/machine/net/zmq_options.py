"""Socket options for ZeroMQ contexts that ipyparallel creates itself: controller, its children, heartbeat."""

from __future__ import annotations

from typing import Any

import zmq


def in_every_context(option: int, value: int) -> None:
    """Set an option on every socket, in all contexts that this process and its children create from now on.

    Args:
        option: A socket option, such as `zmq.IPV6`.
        value: Value of the option.
    """
    plain = zmq.Context.__init__

    def make(self: zmq.Context[Any], *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        self.setsockopt(option, value)

    zmq.Context.__init__ = make  # type: ignore[method-assign]
