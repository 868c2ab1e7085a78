"""ipyparallel's controller: forked from the same memory as the ranks, with CURVE."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from dtrain_lab.core.wire.links import ForkController

POLL_S = 0.02


SOCKETS = 16


def order(
    profile_dir: Path, log: Path, address: str = "127.0.0.1", ports: Sequence[int] = ()
) -> ForkController:
    """What the fork server is told. A fast heart, because a rank is registered only after two beats.

    Args:
        profile_dir: for ipyparallel's files.
        log: of the controller.
        address: where it listens; never on all interfaces.
        ports: that it may use, `SOCKETS` of them; any free ones unless told.
    """
    chosen = (f"--ports={','.join(map(str, ports))}",) if ports else ()
    return ForkController(
        arguments=(
            f"--profile-dir={profile_dir}",
            "--nodb",
            "--HeartMonitor.period=500",
            "--TaskScheduler.scheme_name=none",
            "--IPController.broadcast_scheduler_depth=0",
            "--IPController.enable_curve=True",
            f"--ip={address}",
            f"--location={address}",
            "--log-level=30",
            *chosen,
        ),
        log=str(log),
    )


async def connection_files(profile_dir: Path) -> tuple[str, str]:
    """Wait for the files that the controller writes once it listens: for engines, and for clients."""
    security = profile_dir / "security"
    files = security / "ipcontroller-engine.json", security / "ipcontroller-client.json"
    while True:
        texts = [f.read_text() if f.exists() else "" for f in files]
        if all(text.rstrip().endswith("}") for text in texts):
            return texts[0], texts[1]
        await asyncio.sleep(POLL_S)
