from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.errors import BadSize, Conflict
from dtrain_lab.placement.layout import allocated, among, make_plan, plan_hosts
from dtrain_lab.placement.local_plan import plan_local
from dtrain_lab.wire.plan import HostsFacts, NodeFacts, Plan, Request
from dtrain_lab.wire.profile import Profile

CPU = NodeFacts("box", "127.0.0.1", cpus=8, gpus=0, memory_bytes=1 << 34)
GPU = NodeFacts("box", "127.0.0.1", cpus=32, gpus=4, memory_bytes=1 << 36)


def plan(facts: NodeFacts, profile: Profile | None = None, **request: Any) -> Plan:
    return plan_local(profile or Profile(), Request(**request), facts, python="/p", directory="/d")


def test_one_rank_per_gpu_with_nccl_two_cpu_ranks_where_there_is_none() -> None:
    assert (plan(GPU).size, plan(GPU).collectives) == (4, "cpu:gloo,cuda:nccl")
    assert (plan(CPU).size, plan(CPU).collectives) == (2, "gloo")


def test_ranks_that_share_a_gpu_use_gloo() -> None:
    assert plan(GPU, ranks=5).collectives == "gloo"
    assert plan(GPU, ranks=3).collectives == "cpu:gloo,cuda:nccl"


def test_threads_are_the_cores_divided_by_local_ranks() -> None:
    assert plan(CPU, ranks=2).nodes[0].threads == 4
    assert plan(CPU, ranks=64).nodes[0].threads == 1


def test_jobs_that_run_at_once_share_the_cores() -> None:
    assert among(plan(CPU, ranks=2), 2, CPU).nodes[0].threads == 2
    assert among(plan(CPU, ranks=2), 1, CPU).nodes[0].threads == 4
    assert among(plan(CPU, ranks=2), 100, CPU).nodes[0].threads == 1
    hosts = HostsFacts((CPU, CPU, CPU, CPU))

    def threads(jobs: int, **profile: Any) -> list[int]:
        given = Profile(backend="ssh", name="hosts", **profile)
        request = Request(nodes=2, ranks_per_node=1)
        made = plan_hosts(given, request, hosts, python="python", directory="/")
        return [node.threads for node in among(made, jobs, hosts).nodes]

    assert threads(4) == [4, 4], "two a host"
    assert threads(4, cpus_per_rank=3) == [3, 3]


def test_simulated_nodes_have_names_and_first_ranks() -> None:
    nodes = plan(CPU, nodes=2, ranks_per_node=3).nodes
    assert [(n.name, n.first_rank, n.ranks) for n in nodes] == [("box-1", 0, 3), ("box-2", 3, 3)]


def test_the_givengives_the_size_and_the_request_overrides_it() -> None:
    profile = Profile(nodes=2, ranks_per_node=2, monitor=False)
    assert plan(CPU, profile).size == 4
    assert plan(CPU, profile, ranks=3).size == 3
    assert plan(CPU, profile, ranks_per_node=1).size == 2
    assert not plan(CPU, profile).monitor
    assert plan(CPU, profile, monitor=True).monitor


@pytest.mark.parametrize("request_", [{"ranks": 0}, {"ranks": -1}, {"nodes": 0}, {"ranks_per_node": 0}])
def test_no_ranks_is_refused_and_says_what_the_machine_has(request_: dict[str, int]) -> None:
    with pytest.raises(BadSize, match=f"at least one {'node' if 'nodes' in request_ else 'rank'}") as error:
        plan(CPU, **request_)
    assert ("8 cores and no GPU" in error.value.hint) == ("nodes" not in request_)


def test_too_many_ranks_are_refused_with_the_most_that_fit() -> None:
    with pytest.raises(BadSize, match="8 cores and no GPU") as error:
        plan(CPU, ranks=257)
    assert error.value.details["most"] == 256


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"ranks": 140}, "ranks"),
        ({"nodes": 70}, "nodes"),
        ({"nodes": 70, "ranks_per_node": 2}, "nodes"),
        ({"nodes": 2, "ranks_per_node": 70}, "ranks_per_node"),
        ({"ranks_per_node": 140}, "ranks_per_node"),
    ],
)
def test_the_field_that_asks_for_too_many_ranks_is_named(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(BadSize, match="too many") as refused:
        plan(replace(CPU, cpus=2), **asked)
    assert refused.value.details["field"] == field


def test_ranks_and_nodes_together_make_no_sense() -> None:
    with pytest.raises(BadSize, match="given together"):
        plan(CPU, ranks=2, nodes=2)


def test_hosts_with_free_slots_come_first_and_the_order_stays() -> None:
    nodes = tuple(
        NodeFacts(f"n{i}", f"10.0.0.{i}", 4, 2, 1, held=held) for i, held in enumerate((2, 0, 1, 0))
    )
    profile = Profile(backend="ssh", name="hosts")

    def used(first: str | None = None, **asked: int) -> list[str]:
        facts = HostsFacts(nodes, first)
        made = plan_hosts(profile, Request(**asked), facts, python="python", directory="/")
        return [node.name for node in made.nodes]

    assert used(nodes=2, ranks_per_node=2) == ["n1", "n3"]
    assert used(nodes=2, ranks_per_node=1) == ["n1", "n2"]
    assert used(nodes=3, ranks_per_node=2) == ["n1", "n3", "n0"], "it waits for one then"
    assert used("n2", nodes=2, ranks_per_node=2) == ["n2", "n1"], "where it has to wait for another job"
    lacking = HostsFacts(nodes, lacking={"n1": ("eth0",)})
    made = plan_hosts(profile, Request(nodes=3, ranks_per_node=2), lacking, python="python", directory="/")
    assert [node.name for node in made.nodes] == ["n3", "n0", "n2"], "those with the interface asked for"
    with pytest.raises(Conflict, match="n9 is not among the profile's hosts with room for 2 ranks"):
        used("n9", nodes=1, ranks_per_node=2)


def test_a_node_that_a_scheduler_chose_brings_its_name_threads_and_gpus() -> None:
    before = make_plan(Profile(), Request(), [CPU, CPU], 4, python="python", directory="/")
    after = allocated(allocated(before, 0, "gpu-01", GPU), 1, "gpu-02", GPU)
    assert [(n.name, n.first_rank, n.gpus, n.threads) for n in after.nodes] == [
        ("gpu-01", 0, 4, 8),
        ("gpu-02", 4, 4, 8),
    ]
    assert before.collectives == allocated(before, 0, "gpu-01", GPU).collectives == "gloo"
    assert after.collectives == "cpu:gloo,cuda:nccl"


def test_a_node_that_a_scheduler_chose_keeps_the_back_end_of_npus() -> None:
    before = make_plan(Profile(accelerator="npu"), Request(), [CPU], 2, python="python", directory="/")
    assert allocated(before, 0, "npu-01", CPU).collectives == before.collectives == "cpu:gloo,npu:hccl"
