"""The contract that every back-end keeps; run over all that can run here."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dtrain_lab.backends import registry
from dtrain_lab.backends.base import Backend, Submission
from dtrain_lab.core.plan import Request
from dtrain_lab.core.profile import Profile
from dtrain_lab.errors import BadSize, EnvironmentUnfit, NotFound

pytestmark = [pytest.mark.processes, pytest.mark.asyncio]
WITHIN_S = 20.0


@pytest.fixture(params=registry.names())
def backend(request: pytest.FixtureRequest) -> Backend:
    return registry.backend(request.param)


def submission(directory: Path, facts: Any, python: str = sys.executable) -> Submission:
    settings = {
        "id": "contract",
        "directory": str(directory),
        "record": str(directory / "record.json"),
        "environment": "x",
        "node": json.loads(msgspec.json.encode(facts)),
    }
    return Submission("contract", python, str(directory), json.dumps(settings).encode(), dict(os.environ))


async def until(condition: Any, what: str) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not await condition():
            await asyncio.sleep(0.02)
    del what


async def test_facts_and_a_plan_that_fits_them(backend: Backend) -> None:
    facts = await backend.facts()
    assert facts.cpus >= 1
    assert facts.memory_bytes > 1 << 20
    plan = backend.plan(facts, Profile(), Request(ranks=2), python="/p", directory="/d")
    assert (plan.size, plan.backend) == (2, backend.name)
    with pytest.raises(BadSize):
        backend.plan(facts, Profile(), Request(ranks=10_000_000), python="/p", directory="/d")


async def test_submit_status_find_reach_log_cancel(backend: Backend, tmp_path: Path) -> None:
    directory = Path(os.path.realpath("/tmp")) / f"dtl-contract-{os.getpid()}"
    directory.mkdir(mode=0o700)
    handle = await backend.submit(submission(directory, await backend.facts()))
    try:
        assert await backend.status(handle) == "running"
        assert await backend.find("contract", str(directory)) == handle
        door = Path(backend.reach(handle))

        async def listens() -> bool:
            return door.exists()

        await until(listens, "the head's socket")
        assert await backend.log(handle, "../../etc/passwd", 0) == b""
        (directory / "note.log").write_bytes(b"abc" * 50_000)
        piece = await backend.log(handle, "note", 3)
        assert (len(piece), piece[:3]) == (64 << 10, b"abc")
    finally:
        await backend.cancel(handle)

    async def ended() -> bool:
        return await backend.status(handle) == "ended"

    await until(ended, "the head to end")
    assert await backend.find("contract", str(directory)) is None


async def test_an_interpreter_that_is_not_there_is_told(backend: Backend, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfit, match="can't be run"):
        await backend.submit(submission(tmp_path, await backend.facts(), python=str(tmp_path / "python")))


async def test_an_unknown_backend_names_those_there_are() -> None:
    with pytest.raises(NotFound, match="no back-end") as error:
        registry.backend("slurm")
    assert "local" in error.value.hint
