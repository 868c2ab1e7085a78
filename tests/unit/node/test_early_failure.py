"""A rank that fails while its job's head starts: the head has to hear of it, for the ranks elsewhere."""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import zmq
import zmq.asyncio

from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import supervision
from dtrain_lab.node import ranks
from dtrain_lab.node.agent import Agent
from dtrain_lab.node.sources.spawn import JobRanks
from dtrain_lab.node.sources.spawned_source import SpawnedRanksSource
from dtrain_lab.wire import links
from dtrain_lab.wire.processes.endpoints import Endpoints, Keys


@pytest.mark.asyncio
async def test_an_agent_whose_rank_failed_stays_until_the_head_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had closed its connection once it had the address of a head that was too busy to accept it yet."""
    monkeypatch.setenv(environment_variables.NEVER, json.dumps({"message": "no room"}))
    context = zmq.asyncio.Context()
    with tempfile.TemporaryDirectory(prefix="dtl") as directory:
        head = context.socket(zmq.ROUTER)
        head.bind(f"ipc://{directory}/link")
        found = Endpoints("1", socket.gethostname(), "", 1, 0.0, directory, (), (), Keys("", "", ""))
        (tmp_path / job_files.ENDPOINTS).write_bytes(msgspec.json.encode(found))
        agent = asyncio.create_task(ranks.run(JobRanks(tmp_path, 1, [(1, 0)], 2, apart=True)))
        try:
            heard: list[links.Message] = []
            async with asyncio.timeout(30):
                while not heard or not isinstance(heard[-1], links.AskEnd):
                    name, *frames = await head.recv_multipart()
                    heard += [links.decode_to_head(frame) for frame in frames]
                assert [m.code for m in heard if isinstance(m, links.Exited)] == [1]
                assert not agent.done()
                await head.send_multipart([name, links.encode(links.Attempt(0, "failed"))])
                assert await agent == 1
        finally:
            agent.cancel()
            context.destroy(linger=0)


@pytest.mark.asyncio
async def test_an_agent_that_the_head_told_of_a_failure_asks_no_more() -> None:
    """Its ranks end because of that one, and by then the head may be gone."""
    of_job: Any = SimpleNamespace(node=1, children=[], attempt=0, folder=Path(), end_with_peers=lambda: None)
    head = SpawnedRanksSource(of_job)
    agent = Agent(head)
    agent.link.connected.set()
    try:
        head.obey(links.LeaveWorld())
        await asyncio.wait_for(head.others_end(20.0), 5)
    finally:
        agent.close()
        await supervision.here().close()
