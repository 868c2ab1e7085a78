"""The contract that every back-end keeps; run over all of them, with real hosts and a real scheduler."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dtrain_lab.backends import registry
from dtrain_lab.backends.base import Backend, Handle, Submission, Way
from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.core.plan import NodeFacts, Plan, Request
from dtrain_lab.core.profile import Profile, Ssh
from dtrain_lab.core.record import HeadRecord
from dtrain_lab.core.wire import VERSION, doors
from dtrain_lab.errors import BadSize, EnvironmentUnfit, NotFound, StartFailed
from dtrain_lab.services.reach import Connection
from tests.hosts import SLURM, need, running_hosts

pytestmark = [pytest.mark.processes, pytest.mark.asyncio, pytest.mark.timeout(90)]
WITHIN_S = 40.0


class Subject:
    """A back-end with a profile that it can run here."""

    def __init__(self, backend: Backend, profile: Profile, root: Path) -> None:
        self.backend = backend
        self.profile = profile
        self.root = root

    async def submission(self, python: str = sys.executable) -> Submission:
        facts = await self.backend.facts(self.profile)
        plan: Plan = self.backend.plan(facts, self.profile, Request(ranks=1), python=python, directory="/")
        launch = doors.Launch(plan, Request(ranks=1), "contract", "me")
        remote = {"launch": msgspec.to_builtins(launch), "endpoints": ""}
        directory = str(self.root) if self.backend.name == "local" else ""
        settings = {
            "id": "c0de",
            "directory": directory,
            "record": str(self.root / "record.json") if directory else "",
            "environment": "x",
            "node": NodeFacts(plan.nodes[0].name, "", 1, 0, 0),
            "remote": None if directory else remote,
        }
        return Submission("c0de", "contract", plan, self.profile, settings, directory, dict(os.environ))


@pytest.fixture(params=["local", "ssh", "slurm"])
def subject(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Subject]:
    root = Path(os.path.realpath("/tmp")) / f"dtl-contract-{os.getpid()}"
    root.mkdir(mode=0o700)
    registry.backend.cache_clear()
    try:
        if request.param == "local":
            yield Subject(registry.backend("local"), Profile(), root)
            return
        need("sshd", "ssh-keygen", *(SLURM if request.param == "slurm" else ()))
        with running_hosts(1) as hosts:
            (root / ".ssh").mkdir()
            monkeypatch.setenv("HOME", str(root))
            monkeypatch.setenv("DTRAIN_LAB_POLL_FLOOR_S", "0.5")
            if request.param == "ssh":
                hosts.start_ssh()
                (root / ".ssh" / "config").write_text(hosts.ssh_config.read_text())
                yield Subject(registry.backend("ssh"), Profile(backend="ssh", ssh=Ssh(("node1",))), root)
            else:
                hosts.start_slurm()
                monkeypatch.setenv("SLURM_CONF", str(hosts.slurm_conf))
                profile = Profile(backend="slurm", workdir=str(root / "work"))
                yield Subject(registry.backend("slurm"), profile, root)
    finally:
        registry.backend.cache_clear()
        shutil.rmtree(root, ignore_errors=True)


async def until(condition: Callable[[], Awaitable[Any]], what: str) -> Any:
    try:
        async with asyncio.timeout(WITHIN_S):
            while not (found := await condition()):
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"waited {WITHIN_S:g} s for {what}") from None
    return found


async def test_facts_and_a_plan_that_fits_them(subject: Subject) -> None:
    backend, profile = subject.backend, subject.profile
    facts = await backend.facts(profile)
    plan = backend.plan(facts, profile, Request(ranks=2), python="/p", directory="/d")
    assert (plan.size, plan.backend) == (2, backend.name)
    with pytest.raises(BadSize) as error:
        backend.plan(facts, profile, Request(ranks=10_000_000), python="/p", directory="/d")
    assert error.value.hint


async def test_submit_status_find_reach_log_cancel(subject: Subject) -> None:
    backend, profile = subject.backend, subject.profile
    handle = await backend.submit(await subject.submission())
    try:

        async def runs() -> bool:
            return (await backend.status(profile, handle)).fate == "running"

        await until(runs, "the head to run")

        async def listens() -> Any:
            if backend.name == "local":
                return Path(handle.directory, "door").exists()
            return await backend.endpoints(profile, handle)

        found = await until(listens, "the head to listen")
        endpoints = found if isinstance(found, Endpoints) else None
        way = await backend.reach(profile, handle, endpoints)
        assert await asks(way, handle) in ("pending", "starting", "connecting", "ready")
        again = await backend.find(profile, "c0de", handle.directory)
        assert again is not None
        assert (again.host, again.directory, again.job) == (handle.host, handle.directory, handle.job)
        assert await backend.log(profile, handle, "../../etc/passwd", 0) == b""
        Path(handle.directory, "note.log").write_bytes(b"abc" * 50_000)
        piece = await backend.log(profile, handle, "note", 3)
        assert (len(piece), piece[:3]) == (64 << 10, b"abc")
    finally:
        await backend.cancel(profile, handle)

    async def ended() -> bool:
        return (await backend.status(profile, handle)).fate == "ended"

    await until(ended, "the head to end")
    assert await backend.find(profile, "c0de", handle.directory) is None


async def asks(way: Way, handle: Handle) -> str:
    """The state of the world behind a door."""
    record = HeadRecord("c0de", "contract", "", "", 0, 0.0, "", "", "", False, 0.0, VERSION)
    connection = Connection(record)
    connection._connect(way.url, way.keys)
    try:
        return str((await connection.ask(doors.Info())).state)
    finally:
        connection.close()


async def test_an_interpreter_that_is_not_there_is_told(subject: Subject) -> None:
    submission = await subject.submission()
    missing = str(subject.root / "python")
    plan = msgspec.structs.replace(submission.plan, python=missing)
    bad = msgspec.structs.replace(submission, plan=plan)
    if subject.backend.name != "slurm":
        with pytest.raises((EnvironmentUnfit, StartFailed), match=r"can't be run|No such file"):
            await subject.backend.submit(bad)
        return
    handle = await subject.backend.submit(bad)  # a scheduler learns of it on the node

    async def ended() -> bool:
        return (await subject.backend.status(subject.profile, handle)).fate == "ended"

    await until(ended, "the job to end")
    assert missing.encode() in await subject.backend.log(subject.profile, handle, "slurm", 0)


async def test_an_unknown_backend_names_those_there_are() -> None:
    with pytest.raises(NotFound, match="no back-end") as error:
        registry.backend("kubernetes")
    assert "local, slurm, ssh" in error.value.hint
