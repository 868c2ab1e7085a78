"""Ports of a world: from the profile's range where there is one."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence


def candidates(allowed: range | None) -> Sequence[int]:
    """Ports to try, in an order that two worlds of one node hardly share; without a range, any free one."""
    if allowed is None:
        return [_any_free() for _ in range(20)]
    return random.sample(allowed, len(allowed))


def free(address: str, count: int, allowed: range | None) -> list[int]:
    """Ports that are free at an address now.

    Raises:
        OSError: there are not so many.
    """
    found: list[int] = []
    for port in candidates(allowed) if allowed is not None else (_any_free() for _ in range(4 * count)):
        if port not in found and _is_free(address, port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"{count} free ports are needed at {address}, and {len(found)} are there")


def _is_free(address: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def _any_free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
