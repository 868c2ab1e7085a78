"""ipyparallel's controller: forked from the same memory as ranks, with CURVE; begun anew where it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import zmq

from dtrain_lab.core.wire.links import ForkController
from dtrain_lab.machine import ipv6

POLL_S = 0.02
SOCKETS = 16
AGAIN_AFTER_S, AGAIN_AT_MOST_S = 0.2, 60.0
"""Until it begins anew; twice as long each time."""


class Controller:
    """The controller of a world.

    Args:
        say: sends an order to the agent of its node, which is the head's own.
        profile_dir: for ipyparallel's files.
        log: of the controller.
        address: where it listens; never on all interfaces.
        ports: that it may use, `SOCKETS` of them; any free ones where there are none.
    """

    def __init__(
        self,
        say: Callable[[ForkController], None],
        profile_dir: Path,
        log: Path,
        address: str,
        ports: Sequence[int],
    ) -> None:
        self._say = say
        security = profile_dir / "security"
        self._files = security / "ipcontroller-engine.json", security / "ipcontroller-client.json"
        self._log = str(log)
        public, secret = zmq.curve_keypair()
        # a fast heart, because a rank is registered only after two beats
        self._arguments = (
            f"--profile-dir={profile_dir}",
            "--nodb",
            "--HeartMonitor.period=500",
            "--TaskScheduler.scheme_name=none",
            "--IPController.broadcast_scheduler_depth=0",
            "--IPController.enable_curve=True",
            # ranks and clients know this key: whoever begins anew has to have it
            f"--IPController.curve_publickey={public.decode()}",
            f"--IPController.curve_secretkey={secret.decode()}",
            f"--ip={ipv6.host(address)}",
            f"--location={ipv6.host(address)}",
            "--log-level=30",
            *((f"--ports={','.join(map(str, ports))}",) if ports else ()),
        )
        self.endings = 0
        """How often it has ended."""
        self._timer: asyncio.TimerHandle | None = None
        self.engine_file = ""
        """What engines connect by."""
        self.client_file = ""
        """What clients connect by."""

    async def start(self) -> None:
        """Start it, and wait for the files that it writes once it listens."""
        self._say(ForkController(self._arguments, self._log))
        while True:
            texts = [f.read_text() if f.exists() else "" for f in self._files]
            if all(text.rstrip().endswith("}") for text in texts):
                self.engine_file, self.client_file = texts
                return
            await asyncio.sleep(POLL_S)

    def ended(self) -> None:
        """It has ended: another with its ports and keys, which engines and clients find by themselves."""
        after = min(AGAIN_AT_MOST_S, AGAIN_AFTER_S * 2**self.endings)
        self.endings += 1
        self._timer = asyncio.get_running_loop().call_later(after, self._again)

    def close(self) -> None:
        """It does not begin anew."""
        if self._timer is not None:
            self._timer.cancel()

    def _again(self) -> None:
        # one that could still clean up has removed them
        for file, text in zip(self._files, (self.engine_file, self.client_file), strict=True):
            file.touch(mode=0o600)
            file.write_text(text)
        self._say(ForkController((*self._arguments, "--restore"), self._log))
