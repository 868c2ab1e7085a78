"""The figures of the live view in words."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.api.monitor import _parts, _share
from dtrain_lab.wire.metrics.world import Metrics

STEP = Metrics(
    step_s=0.1, data_s=0.002, compute_s=0.054, transfer_s=0.03, wait_s=0.013, comm_overhead=0.43,
    comm_overhead_error=0.05,
)  # fmt: skip


def test_a_step_is_split_only_where_communication_is_known() -> None:
    assert _parts(STEP) == (
        "<br>step 100.0 ms: data 2 % · forward, backward 54 % · transfer 30 % · waiting 13 %"
    )
    measured = replace(STEP, data_s=0.3 * 0.1, data_error=0.04)
    assert _parts(measured).startswith("<br>step 100.0 ms: data 30 % ± 4 · forward, backward 54 % ·")
    sleeps = replace(STEP, wait_s=0.0, transfer_s=0.01, asleep_s=0.07)
    assert _parts(sleeps) == (
        "<br>step 100.0 ms: data 2 % · forward, backward 18 % · transfer 10 % · waiting 0 % · "
        "other waits 70 %"
    ), "34 of its 70 ms are between the parts"
    vague = replace(STEP, comm_overhead_error=0.51)
    assert _parts(vague) == "<br>step 100.0 ms: data 2 % · the rest is too unsteady to split"


def test_a_share_has_its_error_in_one_way() -> None:
    said = [_share(0.44, error, "") for error in (0.0, 0.001, 0.06, 0.2)]
    assert said == ["44 %", "44 % ± 1", "44 % ± 6", "44 % ± 20"]
    assert _share(0.1, 0.2, "") == "at most 30 %"
    assert _share(0.9, 0.2, "") == "at least 70 %"
    assert _share(0.44, 0.2, "lower") == "≥ 44 %"
    assert _share(0.44, 0.4, "") == "too unsteady to tell"
