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
from msgspec.structs import replace

from dtrain_lab.backends.base import Backend, HeadAddress
from dtrain_lab.errors import BadRequest, BadSize, EnvironmentUnfit, NotFound, StartFailed
from dtrain_lab.services.connection import Connection
from dtrain_lab.services.connection.presence import Presence
from dtrain_lab.services.policy import backends
from dtrain_lab.services.worlds.cluster_folder import prepared
from dtrain_lab.wire import clients
from dtrain_lab.wire.plan import NodeFacts, Plan, Request
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.processes.settings import HeadSettings, SubmittedHead
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Profile, Ssh
from tests.hosts import SLURM, need, running_hosts

pytestmark = [pytest.mark.processes, pytest.mark.asyncio, pytest.mark.timeout(90)]
WITHIN_S = 40.0


class Subject:
    """A back-end with a profile that it can run here."""

    def __init__(self, backend: Backend, profile: Profile, root: Path) -> None:
        self.backend = backend
        self.profile = profile
        self.root = root

    async def cluster(self, python: str = sys.executable) -> ClusterRecord:
        facts = await self.backend.facts(self.profile)
        plan: Plan = self.backend.plan(facts, self.profile, Request(ranks=1), python=python, directory="/")
        here = self.backend.traits.one_machine
        settings = HeadSettings(
            "c0de",
            directory=str(self.root) if here else "",
            record=str(self.root / "record.json") if here else "",
            environment="x",
            node=NodeFacts(plan.nodes[0].name, "", 1, 0, 0),
            remote=None
            if here
            else SubmittedHead(clients.Launch(plan, Request(ranks=1), "contract", "me"), ""),
        )
        return ClusterRecord("c0de", "contract", self.profile, plan, settings.directory, settings=settings)


@pytest.fixture(params=["local", "ssh", "slurm"])
def subject(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Subject]:
    root = Path(os.path.realpath("/tmp")) / f"dtl-contract-{os.getpid()}"
    root.mkdir(mode=0o700)
    backends.backend.cache_clear()
    try:
        if request.param == "local":
            yield Subject(backends.backend("local"), Profile(), root)
            return
        need("sshd", "ssh-keygen", *(SLURM if request.param == "slurm" else ()))
        with running_hosts(1) as hosts:
            (root / ".ssh").mkdir()
            monkeypatch.setenv("HOME", str(root))
            monkeypatch.setenv("DTRAIN_LAB_POLL_FLOOR_S", "0.5")
            if request.param == "ssh":
                hosts.start_ssh()
                (root / ".ssh" / "config").write_text(hosts.ssh_config.read_text())
                yield Subject(backends.backend("ssh"), Profile(backend="ssh", ssh=Ssh(("node1",))), root)
            else:
                hosts.start_slurm()
                monkeypatch.setenv("SLURM_CONF", str(hosts.slurm_conf))
                profile = Profile(backend="slurm", workdir=str(root / "work"))
                yield Subject(backends.backend("slurm"), profile, root)
    finally:
        backends.backend.cache_clear()
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
    assert (plan.size, plan.backend, plan.traits) == (2, backend.name, backend.traits)
    with pytest.raises(BadSize) as error:
        backend.plan(facts, profile, Request(ranks=10_000_000), python="/p", directory="/d")
    assert error.value.hint


async def test_submit_status_find_reach_log_cancel(subject: Subject) -> None:
    backend = subject.backend
    cluster = await subject.cluster()
    made, files = await prepared(cluster, backend)
    handle = await backend.submit(made, files)
    unconfirmed = replace(made, settings=None)  # what is known if the client is killed meanwhile
    cluster = replace(cluster, handle=handle, directory=handle.directory, settings=None)
    try:

        async def runs() -> bool:
            return (await backend.status(cluster)).fate == "running"

        await until(runs, "the head to run")

        async def listens() -> Any:
            if backend.traits.one_machine:
                return Path(handle.directory, "client").exists()
            text = await backend.files(cluster)[0].transport.read(f"{handle.directory}/endpoints.json")
            return handle.endpoints or (msgspec.json.decode(text, type=Endpoints) if text else None)

        found = await until(listens, "the head to listen")
        endpoints = found if isinstance(found, Endpoints) else None
        way = await backend.reach(cluster, endpoints)
        assert await asks(way) in ("pending", "starting", "connecting", "ready")
        for known in (cluster, unconfirmed):
            again = await backend.find(known)
            assert again is not None
            assert (again.host, again.directory, again.job) == (handle.host, handle.directory, handle.job)
            assert (again.pid, again.started) == (handle.pid, handle.started)
            lost = replace(cluster, handle=again)
            way = await backend.reach(lost, again.endpoints or endpoints)
            assert await asks(way) in ("pending", "starting", "connecting", "ready")
        with pytest.raises(BadRequest, match="not the name of a log"):
            await backend.log(cluster, "../../etc/passwd", 0)
        Path(handle.directory, "note.log").write_bytes(b"abc" * 50_000)
        piece = await backend.log(cluster, "note", 3)
        assert (len(piece), piece[:3]) == (64 << 10, b"abc")
    finally:
        await backend.cancel(cluster)

    async def ended() -> bool:
        return (await backend.status(cluster)).fate == "ended"

    await until(ended, "the head to end")
    assert await backend.find(cluster) is None


async def asks(way: HeadAddress) -> str:
    """The state of the world behind a client."""
    connection = Connection("c0de", "contract", "", lambda c: Presence(c, way))
    await connection.open()
    try:
        return str((await connection.ask(clients.Info())).state)
    finally:
        connection.close()


async def test_an_interpreter_that_is_not_there_is_told(subject: Subject) -> None:
    missing = str(subject.root / "python")
    bad = await subject.cluster(missing)
    if not subject.backend.traits.schedules:
        with pytest.raises((EnvironmentUnfit, StartFailed), match=r"can't be run|No such file"):
            await subject.backend.submit(*await prepared(bad, subject.backend))
        return
    # a scheduler learns of it on the node
    handle = await subject.backend.submit(*await prepared(bad, subject.backend))
    bad = replace(bad, handle=handle, directory=handle.directory)

    async def ended() -> bool:
        return (await subject.backend.status(bad)).fate == "ended"

    await until(ended, "the job to end")
    assert missing.encode() in await subject.backend.log(bad, "launcher", 0)


async def test_an_unknown_backend_names_those_there_are() -> None:
    with pytest.raises(NotFound, match="no back-end") as error:
        backends.backend("kubernetes")
    assert "local, slurm, ssh" in error.value.hint
