"""Sweeps for all clients: create, list, stop, resume, delete, and adopt those whose driver died."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from dtrain_lab.backends.local import processes as own
from dtrain_lab.backends.local.environment import variables
from dtrain_lab.errors import Conflict, DtrainError, NotFound, Unreachable
from dtrain_lab.machine import processes
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.jobs.submission import Warned
from dtrain_lab.services.policy import policy
from dtrain_lab.services.sweeps import deletion
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.services.sweeps.check import check_sweep
from dtrain_lab.services.sweeps.creation import create
from dtrain_lab.sweeps.importance import importance
from dtrain_lab.sweeps.view import can_resume, shown
from dtrain_lab.wire.profile import Environment
from dtrain_lab.wire.sweeps import (
    SWEEP_ENDED,
    Importance,
    Sweep,
    SweepPlan,
    SweepRecord,
    SweepRequest,
    UnreadableSweep,
    Wish,
)

OnSweep = Callable[[Sweep], None]
log = logging.getLogger(__name__)
ADOPT_EVERY_S = 2.0
"""Interval at which a server looks for sweeps without a driver."""
START_EVERY_S = 5.0
"""Seconds within which a driver has to take its lock, before another one is started."""
HEARD_WITHIN_S = 30.0
POLL_S = 0.1


class Sweeps:
    """Sweeps of this user.

    Args:
        jobs: Jobs of this user.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._started: dict[str, float] = {}
        """Sweep → monotonic time at which a driver was started here."""
        self._importances: dict[str, tuple[int, Importance]] = {}
        """Sweep → number of its trials that had succeeded, and the importance derived from them."""

    async def plan(self, request: SweepRequest, file: Path, *, ask: bool = False) -> SweepPlan:
        """Check a sweep without starting it: a trial's plan, and what would keep the sweep from starting.

        Args:
            request: The user's request.
            file: Path of the notebook.
            ask: Also ask the scheduler for a forecast of a trial.

        Raises:
            DtrainError: A trial can't be planned.
        """
        return (await check_sweep(self._jobs, request, file, strict=False, ask=ask)).plan

    async def create(self, request: SweepRequest, file: Path, warned: Warned | None = None) -> Sweep:
        """Create a sweep and start its driver.

        Args:
            request: The user's request.
            file: Path of the notebook.
            warned: Called with the check's warnings before anything is started.

        Raises:
            DtrainError: Nothing was started; the message says why.
        """
        folder = await create(self._jobs, request, file, warned)
        return await self._driven_view(folder)

    async def adopt(self) -> None:
        """Start the drivers that running sweeps lack because they died; not those of other machines.

        Raises:
            DtrainError, OSError: A driver can't be started; the others are.
        """
        failed: Exception | None = None
        for folder, record in await asyncio.to_thread(_unended):
            try:
                await asyncio.to_thread(self._drive, folder, record)
            except Conflict:  # its driver runs elsewhere
                continue
            except (DtrainError, OSError) as error:
                failed = error
        if failed is not None:
            raise failed

    async def keep_driven(self) -> None:
        """Adopt sweeps again and again, as a server does until it ends."""
        logged = ""
        while True:
            try:
                await self.adopt()
            except (DtrainError, OSError) as error:  # such as an environment that was removed
                if str(error) != logged:
                    logged = str(error)
                    log.warning("a sweep that runs has no driver: %s", error)
            await asyncio.sleep(ADOPT_EVERY_S)

    async def listing(self, *, active: bool = False) -> list[Sweep]:
        """Return sweeps, newest first; those that this version can't read are in `unreadable`.

        Args:
            active: Only those that have not ended; records of others are not read again.
        """
        every = _unended if active else folders.readable
        found = await asyncio.to_thread(lambda: list(every()))
        found.sort(key=lambda one: -one[1].created_at)
        return [shown(record, str(folder), time.time()) for folder, record in found]

    async def unreadable(self) -> list[UnreadableSweep]:
        """Return the sweeps that can't be read here, and why."""
        return [
            UnreadableSweep(
                known.id, known.name, str(sweep_names.base() / known.id), error.message, error.hint
            )
            for known, error in await asyncio.to_thread(folders.unreadable)
        ]

    async def sweep(self, name: str) -> Sweep:
        """Return a sweep by its id, a prefix of its id, or its name (the newest of that name).

        Raises:
            NotFound: There is no such sweep.
            WireMismatch: Another version wrote it.
        """
        return await self._read_view(await self._find(name))

    async def adopted(self, name: str) -> Sweep:
        """Return a sweep as `sweep` does, and start its driver if that died."""
        return await self._driven_view(await self._find(name))

    async def stop(self, name: str) -> Sweep:
        """End all trials that run; their checkpoints are kept. A sweep that has ended stays as it is."""
        folder = await self._find(name)
        record = await asyncio.to_thread(folders.read, folder)
        if record.state in SWEEP_ENDED:
            return await self._view(folder, record)
        return await self._wish(folder, "stop")

    async def resume(self, name: str) -> Sweep:
        """Resume a sweep: stopped trials continue from their checkpoints, the others start.

        Raises:
            Conflict: The sweep runs, or has no trials left to run.
        """
        folder = await self._find(name)
        record = await asyncio.to_thread(folders.read, folder)
        if record.state not in SWEEP_ENDED:
            if record.state == "stopping":
                raise Conflict(f"{record.name} is still being stopped.", "Wait for its end, then resume it.")
            raise Conflict(f"{record.name} is running.", "Wait for its end, or stop it.")
        if not can_resume(record):
            raise Conflict(f"All trials of {record.name} have run.", "Start another sweep.")
        return await self._wish(folder, "run")

    async def delete(self, name: str, *, force: bool = False) -> Sweep:
        """Remove a sweep that has ended, and the jobs of its trials with their folders and checkpoints.

        Args:
            name: Name or id of the sweep.
            force: Remove jobs even if it is unknown whether they still run, or if a folder can't be removed.

        Raises:
            Conflict: The sweep still runs, or another job has its checkpoints in a folder of its jobs.
            Unreachable: A folder can't be removed; the sweep stays.
        """
        folder = await self._find(name)
        record = await deletion.remove(folder, self._jobs, force=force)
        self._importances.pop(record.id, None)
        return replace(shown(record, str(folder), time.time()), may=())

    async def wait(self, name: str, on_sweep: OnSweep | None = None, every_s: float = 0.5) -> Sweep:
        """Wait for a sweep's end; a driver that dies meanwhile is replaced.

        Args:
            name: Name or id of the sweep.
            on_sweep: Called with the sweep at each poll.
            every_s: Polling interval in seconds.
        """
        folder = await self._find(name)
        while True:
            made = await self._driven_view(folder)
            if on_sweep is not None:
                on_sweep(made)
            if made.state in SWEEP_ENDED:
                return made
            await asyncio.sleep(every_s)

    # ----

    async def _find(self, name: str) -> Path:
        found = await asyncio.to_thread(lambda: list(folders.readable()))
        found.sort(key=lambda one: (one[1].id == name, one[1].created_at), reverse=True)
        for folder, record in found:
            if sweep_names.SweepIdentity(record.id, record.name, None).is_called(name):
                return folder
        for known, error in await asyncio.to_thread(folders.unreadable):
            if known.is_called(name):
                raise error
        raise NotFound(f'There is no sweep "{name}".', "List them: dtrain-lab sweep list", code="no_sweep")

    async def _read_view(self, folder: Path) -> Sweep:
        return await self._view(folder, await asyncio.to_thread(folders.read, folder))

    async def _driven_view(self, folder: Path) -> Sweep:
        """Start the driver that a sweep lacks; a sweep of another machine is only read."""
        record = await asyncio.to_thread(folders.read, folder)
        with contextlib.suppress(Conflict):
            await asyncio.to_thread(self._drive, folder, record)
        return await self._view(folder, record)

    async def _view(self, folder: Path, record: SweepRecord) -> Sweep:
        return shown(record, str(folder), time.time(), await self._importance(record))

    async def _importance(self, record: SweepRecord) -> Importance:
        done = sum(trial.state == "succeeded" for trial in record.trials)
        known = self._importances.get(record.id)
        if known is None or known[0] != done:
            known = done, await asyncio.to_thread(importance, record)
            if known[1].missing is None or known[1].missing.code != "no_optuna":  # perhaps installed since
                self._importances[record.id] = known
        return known[1]

    async def _wish(self, folder: Path, wish: Wish) -> Sweep:
        """Write a client's request to the folder, and wait until the driver has read it."""
        asked = await asyncio.to_thread(folders.ask, folder, wish)
        until = time.monotonic() + HEARD_WITHIN_S
        while True:
            record = await asyncio.to_thread(folders.read, folder)
            if record.heard >= asked.number:
                return await self._view(folder, record)
            if time.monotonic() > until:
                raise Unreachable(
                    f"The driver of {record.name} does not answer.", f"See {folder / folders.LOG}."
                )
            await asyncio.to_thread(self._drive, folder, record, wanted=True)
            await asyncio.sleep(POLL_S)

    def _drive(self, folder: Path, record: SweepRecord, *, wanted: bool = False) -> None:
        """Start a driver if the sweep needs one and has none.

        Raises:
            Conflict: The sweep is driven on another machine.
        """
        if record.state in SWEEP_ENDED and not wanted:
            return
        now = time.monotonic()
        if now - self._started.get(record.id, -START_EVERY_S) < START_EVERY_S or folders.is_driven(folder):
            return
        if not _is_of_here(record):
            raise Conflict(
                f"The driver of {record.name} runs on {record.host}.",
                f"Run there: dtrain-lab sweep show {record.id}",
            )
        self._started[record.id] = now
        own.start(
            # -P: files in the working directory must not shadow dtrain-lab's modules
            [record.python, "-P", "-m", "dtrain_lab.services.sweeps", str(folder)],
            log=folder / folders.LOG,
            cwd=str(folder),
            env=variables(Environment()),
            stdin=msgspec.json.encode(policy.of_server()),
        )


def _unended() -> list[tuple[Path, SweepRecord]]:
    """Return the sweeps that can be read and have not ended; records of ended ones are read once."""
    found = []
    for folder in sweep_names.all_of():
        if sweep_names.identify(folder).ended is False:
            with contextlib.suppress(DtrainError):  # it is in `unreadable`
                found.append((folder, folders.read(folder)))
    return found


def _is_of_here(record: SweepRecord) -> bool:
    rebooted = processes.has_ended(record.system) and record.host == socket.gethostname()
    return processes.is_here(record.system) or rebooted
