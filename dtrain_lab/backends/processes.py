"""The processes of a submission, for back-ends that start clusters and jobs in different ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.status import Status


class Processes(Protocol):
    """The processes of one submission, for back-ends whose clusters and jobs differ: a head, or scripts."""

    async def start(self, files: Mapping[str, bytes]) -> Handle:
        """Start them; see `Backend.submit`."""

    async def status(self) -> Status:
        """Return whether they run."""

    async def find(self) -> Handle | None:
        """Find them, also without a handle."""

    async def cancel(self) -> None:
        """End them."""
