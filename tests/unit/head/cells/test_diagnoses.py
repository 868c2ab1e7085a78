"""A diagnosis whose model is gone is answered from the monitor's metrics; other refusals are passed on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.errors import BadRequest
from dtrain_lab.head.cells.diagnoses import Diagnoses
from dtrain_lab.metrics.advice.measured import Measured
from dtrain_lab.metrics.diagnosis import GONE, MODEL_GONE
from dtrain_lab.wire import clients

MEASURED = Measured(ranks=2, step_s=0.1, data_s=0.0, share=0.2, error=0.01)


class Refused(Diagnoses):
    """Diagnoses on ranks that refuse to measure."""

    refusal = BadRequest("")

    async def _measured(self, *_: Any) -> Any:
        raise self.refusal


def diagnoses(refusal: BadRequest) -> Refused:
    cells: Any = SimpleNamespace(find=lambda _: None)
    loop: Any = SimpleNamespace(measured=MEASURED)
    idle: Any = SimpleNamespace(running=())
    nothing: Any = None
    made = Refused(nothing, cells, nothing, lambda: idle, loop, tuple, lambda: None)
    made.refusal = refusal
    return made


async def test_a_model_that_is_gone_is_known_by_its_code() -> None:
    found = await diagnoses(BadRequest("In other words.", code=MODEL_GONE)).diagnose(
        b"", clients.Diagnose("d")
    )
    assert found.source == "live"
    assert found.notes[0].startswith(GONE)


async def test_another_refusal_with_the_same_words_is_passed_on() -> None:
    with pytest.raises(BadRequest):
        await diagnoses(BadRequest(GONE)).diagnose(b"", clients.Diagnose("d"))
