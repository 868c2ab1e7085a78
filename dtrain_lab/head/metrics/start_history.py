"""Durations of past starts, kept beside the heads' records: the panel shows the usual duration."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from dtrain_lab.wire.plan import Plan
from dtrain_lab.world.start_duration import Start, usual

MOST_BYTES = 32 << 10
"""Bytes: some hundred starts; beyond that, the older half is dropped."""


class StartHistory:
    """Durations of this head's start, and of those before it.

    Args:
        file: One JSON object per line; shared by all heads of this user.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._began = 0.0
        self._plan: Plan | None = None
        self.usual_s: float | None = None

    def began(self, plan: Plan) -> None:
        """The start of the ranks begins now."""
        self._plan, self._began = plan, time.monotonic()
        self.usual_s = usual(_read(self._file), plan.profile, plan.size)

    def ready(self) -> None:
        """The first process group is formed: store the start's duration."""
        if self._plan is None:
            return
        start = Start(self._plan.profile, self._plan.size, time.monotonic() - self._began)
        if self._file.exists() and self._file.stat().st_size > MOST_BYTES:
            lines = self._file.read_bytes().splitlines(keepends=True)
            self._file.write_bytes(b"".join(lines[len(lines) // 2 :]))
        with self._file.open("ab") as file:  # one write per line: several heads may append
            file.write(msgspec.json.encode(start) + b"\n")


def _read(file: Path) -> list[Start]:
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    starts = []
    for line in lines:
        try:
            starts.append(msgspec.json.decode(line, type=Start))
        except msgspec.DecodeError:  # cut off by a full disk, or written by another version
            continue
    return starts
