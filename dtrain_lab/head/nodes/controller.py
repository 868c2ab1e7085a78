"""ipyparallel's controller: forked from the ranks' fork server, with CURVE; restarted when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import zmq

from dtrain_lab.machine.net import ipv6
from dtrain_lab.wire.links import ForkController

POLL_S = 0.02
SOCKETS = 16
FEW_RANKS = 32
SILENT_MS = 5000
"""An engine without heartbeats for this long is lost to the controller."""
AGAIN_AFTER_S, AGAIN_AT_MOST_S = 0.2, 60.0
"""Seconds until a restart: the first delay, doubled each time, and its maximum."""


class Controller:
    """The ipyparallel controller of a world.

    Args:
        send: Sends a message to the agent of the head's own node.
        profile_dir: Folder of ipyparallel's files.
        log: Log file of the controller.
        address: Address it listens on; never all interfaces.
        ports: The `SOCKETS` ports that it may use; empty for any free ones.
        ranks: Number of ranks.
    """

    def __init__(
        self,
        send: Callable[[ForkController], None],
        profile_dir: Path,
        log: Path,
        address: str,
        ports: Sequence[int],
        ranks: int,
    ) -> None:
        self._send = send
        security = profile_dir / "security"
        self._files = security / "ipcontroller-engine.json", security / "ipcontroller-client.json"
        self._engines_file = profile_dir / "log" / "engines.json"
        self.log = str(log)
        public, secret = zmq.curve_keypair()
        # clients see an engine after two heartbeats; each takes time in the process that counts them
        beat_ms = 200 if ranks <= FEW_RANKS else 500
        self._arguments = (
            f"--profile-dir={profile_dir}",
            "--nodb",
            f"--HeartMonitor.period={beat_ms}",
            f"--HeartMonitor.max_heartmonitor_misses={SILENT_MS // beat_ms}",
            "--IPController.broadcast_scheduler_depth=0",
            "--IPController.use_threads=True",
            "--IPController.enable_curve=True",
            # fixed keys: engines and clients know them, so a restarted controller has to have the same
            f"--IPController.curve_publickey={public.decode()}",
            f"--IPController.curve_secretkey={secret.decode()}",
            f"--ip={ipv6.host(address)}",
            f"--location={ipv6.host(address)}",
            "--log-level=30",
            *((f"--ports={','.join(map(str, ports))}",) if ports else ()),
        )
        self.endings = 0
        """How often the controller has ended."""
        self.failure = ""
        """Why it ended before it listened."""
        self._begun = self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self.engine_file = ""
        """Connection file for engines."""
        self.client_file = ""
        """Connection file for clients."""

    @property
    def listens(self) -> bool:
        """Whether it has been started and listens; true also while it is restarted."""
        return bool(self.client_file)

    async def start(self) -> None:
        """Start the controller, and wait for the connection files that it writes once it listens."""
        if not self._begun:  # supervision may restart this method after the controller was started
            for file in self._files:  # left by a controller that ended as it started
                file.unlink(missing_ok=True)
            self._send(ForkController(self._arguments, self.log))
            self._begun = True
        while True:
            texts = [f.read_text() if f.exists() else "" for f in self._files]
            if all(text.rstrip().endswith("}") for text in texts):
                self.engine_file, self.client_file = texts
                return
            await asyncio.sleep(POLL_S)

    def confirmed(self) -> dict[int, str]:
        """Engines whose heartbeats have arrived, so that clients know of them: rank → engine.

        From the file that lets a restarted controller know its engines; empty where there is none.
        """
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):  # or half written
            engines = json.loads(self._engines_file.read_text())["engines"]
            return {int(rank): str(engine) for rank, engine in engines.items()}
        return {}

    def ended(self) -> None:
        """Restart the controller with the same ports and keys, so that engines and clients reconnect."""
        if self._closed:
            return
        after = min(AGAIN_AT_MOST_S, AGAIN_AFTER_S * 2**self.endings)
        self.endings += 1
        self._timer = asyncio.get_running_loop().call_later(after, self._again)

    def close(self) -> None:
        """Restart it no more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _again(self) -> None:
        # a controller that could clean up has removed its connection files
        for file, text in zip(self._files, (self.engine_file, self.client_file), strict=True):
            file.touch(mode=0o600)
            file.write_text(text)
        self._send(ForkController((*self._arguments, "--restore"), self.log))
