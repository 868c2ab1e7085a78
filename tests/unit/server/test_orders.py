from __future__ import annotations

from dtrain_lab.head.ownership import messages
from dtrain_lab.placement.local_plan import plan_local
from dtrain_lab.wire.plan import NodeFacts, Request
from dtrain_lab.wire.profile import Profile

FACTS = NodeFacts("box", "127.0.0.1", cpus=8, gpus=0, memory_bytes=1 << 34)
PLAN = plan_local(Profile(), Request(nodes=2, ranks_per_node=2), FACTS, python="/p", directory="/d")


def test_ranks_go_to_the_node_they_are_on() -> None:
    found = [(index, node.name, ranks) for index, node, ranks in messages.by_node(PLAN, (0, 2, 3))]
    assert found == [(0, "box-1", (0,)), (1, "box-2", (2, 3))]
    assert [index for index, _, _ in messages.by_node(PLAN, (3,))] == [1]


def test_a_rank_is_told_who_it_is() -> None:
    place = messages.NodeSettings("/tmp/x", "ipc:///tmp/x/link", 29500)
    spec = messages.rank_spec(PLAN, place, 1, PLAN.nodes[1], 3)
    assert (spec.rank, spec.local_rank, spec.node_rank, spec.world_size, spec.local_world_size) == (
        3,
        1,
        1,
        4,
        2,
    )
    assert (spec.log, spec.profile_dir) == ("/tmp/x/rank.3.log", "/tmp/x/ipp")


def test_newcomers_learn_the_union_of_what_survivors_know() -> None:
    world, pair, other = ("0", (0, 1, 2, 3), "world"), ("5", (0, 1), ""), ("6", (2, 3), "")
    groups: messages.Groups = {
        0: ((world, pair), 6),
        2: ((world, other), 7),
        3: ((world, ("9", (3,), "")), 99),
    }
    sent = dict(messages.form(PLAN, 4, (1, 3), groups))
    assert sorted(sent) == [0, 1, 2, 3]
    assert sent[3].groups == (world, pair, other)
    assert sent[3].group_count == 7
    assert {form.generation for form in sent.values()} == {4}
