"""Services build a cluster's whole submission: folder, files, and where its head says that it listens."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dtrain_lab.services.policy import backends
from dtrain_lab.services.worlds.cluster_folder import prepared
from dtrain_lab.wire import clients
from dtrain_lab.wire.plan import NodeFacts, NodePlan, Plan, Request
from dtrain_lab.wire.processes.settings import HeadSettings, SubmittedHead
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Profile

pytestmark = pytest.mark.asyncio


def cluster(profile: Profile, directory: str = "") -> ClusterRecord:
    traits = backends.backend(profile.backend).traits
    node = NodePlan("a", "", 0, 2, 0, 1)
    plan = Plan("p", profile.backend, (node,), "/v/python", {}, "/", "gloo", monitor=True, traits=traits)
    launch = clients.Launch(plan, Request(ranks=2), "mine", "me")
    remote = None if traits.one_machine else SubmittedHead(launch, "")
    settings = HeadSettings("c0de", directory, "", "", NodeFacts("a", "", 1, 0, 0), remote=remote)
    return ClusterRecord("c0de", "mine", profile, plan, directory, settings=settings)


async def test_where_nodes_share_a_folder_it_has_the_settings_and_the_script(tmp_path: Path) -> None:
    profile = Profile(backend="slurm", workdir=str(tmp_path))
    made, files = await prepared(cluster(profile), backends.backend("slurm"))
    folder = f"{tmp_path}/worlds/c0de"
    assert made.directory == folder
    assert sorted(files) == ["head.json", "job.sh"]
    assert f"folder={folder}" in files["job.sh"].decode()
    settings = msgspec.json.decode(files["head.json"], type=HeadSettings)
    assert settings == made.settings
    assert settings.record == f"{folder}/record.json"
    assert settings.remote is not None
    assert settings.remote.endpoints == f"{folder}/endpoints.json"
    assert not settings.remote.own_agent, "the script starts an agent on each node"


async def test_without_one_the_head_gets_its_settings_on_stdin_and_answers_on_stdout() -> None:
    made, files = await prepared(cluster(Profile(backend="ssh")), backends.backend("ssh"))
    assert files == {}
    assert made.settings is not None
    assert made.settings.remote is not None
    assert (made.settings.remote.endpoints, made.settings.remote.own_agent) == ("-", True)


async def test_a_head_on_this_machine_has_its_folder_already() -> None:
    here = cluster(Profile(), "/run/me/c0de")
    assert await prepared(here, backends.backend("local")) == (here, {})
