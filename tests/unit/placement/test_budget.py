"""What an account of Slurm has left, from what `scontrol show assoc_mgr` prints."""

from __future__ import annotations

import pytest

from dtrain_lab.backends.slurm import account_hours
from dtrain_lab.placement import budget
from dtrain_lab.wire.jobs.quota import Budget, Unit

TOLD = """ada
Current Association Manager state

Association Records

ClusterName=dtl Account=proj UserName= Partition= Priority=0 ID=4
    ParentAccount=lab(3) Lft=3 DefAssoc=No
    GrpTRES=cpu=N(0),gres/gpu=8(0)
    GrpTRESMins=cpu=N(500),mem=N(0),gres/gpu=6000(1200),gres/gpu:a100=1800(0)
    GrpTRESRunMins=cpu=N(120),mem=N(12000),gres/gpu=N(600),gres/gpu:a100=N(0)
    MaxTRESMinsPJ=gres/gpu=60
ClusterName=dtl Account=proj UserName=ada(1000) Partition= Priority=0 ID=5
    ParentAccount= Lft=4 DefAssoc=Yes
    GrpTRESMins=cpu=3000(2400),gres/gpu=N(0)
    GrpTRESRunMins=cpu=N(900),gres/gpu=N(0)
ClusterName=dtl Account=proj UserName=bob(1001) Partition= Priority=0 ID=6
    GrpTRESMins=cpu=60(0),gres/gpu=60(0)
    GrpTRESRunMins=cpu=N(0),gres/gpu=N(0)
Current Association Manager state

ClusterName=dtl Account=lab UserName= Partition= Priority=0 ID=3
    ParentAccount=root(1) Lft=2 DefAssoc=No
    GrpTRESMins=cpu=6000(0),gres/gpu=60000(30.5)
    GrpTRESRunMins=cpu=N(0),gres/gpu=N(0)
QOS=long(2)
    GrpTRESMins=cpu=N(0),gres/gpu=12000(9000)
    GrpTRESRunMins=cpu=N(0),gres/gpu=N(0)
"""


@pytest.mark.parametrize(
    ("unit", "kind", "expected"),
    [
        # of the QOS 3000 min are left, of the account 6000 - 1200 - 600
        ("GPU", "", Budget("GPU", 50.0, 200.0, "the QOS long")),
        ("GPU", "a100", Budget("GPU", 30.0, 30.0, "the account proj")),
        ("CPU", "", Budget("CPU", 0.0, 50.0, "your share of the account proj")),
    ],
)
def test_the_least_that_bounds_this_user(unit: Unit, kind: str, expected: Budget) -> None:
    assert account_hours.read(TOLD, unit, kind) == expected


def test_without_a_limit_there_is_no_budget() -> None:
    for text in ("", "ada\n", "ada\nCurrent Association Manager state\n", "ada\nClusterName=x Account="):
        assert account_hours.read(text, "GPU") is None


def test_a_job_that_may_take_more_is_told() -> None:
    left = Budget("GPU", 50.0, 200.0, "the account proj")
    endless = budget.finding(left)
    assert endless is not None
    assert endless.message == "The account proj has 50.0 of 200.0 GPU-hours left. The job has no time limit."
    assert budget.sentence(left) == "The account proj has 50.0 of 200.0 GPU-hours left."
    named = budget.sentence(Budget("CPU", 1.0, 2.0, "the QOS Long"))
    assert named == "The QOS Long has 1.0 of 2.0 CPU-hours left."
    assert budget.with_job(left, 8, None) == left
    enough, short = budget.with_job(left, 8, 3600.0 * 6), budget.with_job(left, 8, 3600.0 * 24)
    assert budget.finding(enough) is None
    found = budget.finding(short)
    assert found is not None
    assert found.message == "It may take 192.0 GPU-hours; the account proj has 50.0 of 200.0 left."
    assert (found.severity, found.field) == ("warning", "time")
