"""How many ranks fit on a profile's nodes, in sentences that a page can translate."""

from __future__ import annotations

from typing import Any

from dtrain_lab.services.profiles import check
from dtrain_lab.wire.node_check import Fitting
from dtrain_lab.wire.plan import NodeFacts

CPUS = NodeFacts("a", "", 2, 0, 7 << 30)


def told(nodes: int, starts: int, *, own: bool) -> list[tuple[str, dict[str, Any], str]]:
    ask = Fitting(nodes=nodes, ranks_per_node=2, cpus_per_rank=1, memory_gib_per_rank=3.5)
    found = check.capacity_summary(CPUS, ask, starts, own=own)
    told = ask.__struct_fields__
    return [(one.code, {k: v for k, v in one.values.items() if k not in told}, one.text) for one in found]


def test_each_sentence_has_a_code_and_values() -> None:
    # the cases of src/cluster/profiles/capacity.spec.ts
    assert told(1, 8, own=True) == [
        (
            "takes",
            {"most": 64, "devices": 2, "gpus": False},
            "It takes at most 64 ranks: 2 have a core each, more share cores and are slower.",
        ),
        ("each_gets", {}, "With 2 ranks, each gets 1 core and 3.5 GiB."),
        ("shares", {"ranks": 8}, "It starts 8 ranks by default, which share its devices."),
    ]
    where = "with 1 core and 3.5 GiB for each."
    assert told(1, 2, own=False) == [("room", {}, f"There is room for 2 ranks on its node, {where}")]
    assert told(3, 6, own=False) == [("room", {}, f"There is room for 2 ranks on each of 3 nodes, {where}")]
