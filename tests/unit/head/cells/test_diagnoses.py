"""A diagnosis whose model is gone is answered from the monitor's metrics; other refusals are passed on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.errors import BadRequest
from dtrain_lab.head.cells.diagnoses import Diagnoses
from dtrain_lab.metrics.advice.measured import Measured
from dtrain_lab.metrics.diagnosis import BARE, GONE, MODEL_GONE, NO_MODEL
from dtrain_lab.wire import clients

MEASURED = Measured(ranks=2, step_s=0.1, data_s=0.0, share=0.2, error=0.01)


class Refused(Diagnoses):
    """Diagnoses on ranks that refuse to measure."""

    refusal = BadRequest("")

    async def _measured(self, *_: Any) -> Any:
        raise self.refusal


def diagnoses(refusal: BadRequest, seen: Measured = MEASURED) -> Refused:
    cells: Any = SimpleNamespace(find=lambda _: None)
    loop: Any = SimpleNamespace(measured=seen)
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


async def test_a_loop_without_a_ddp_model_is_told_from_its_own_steps() -> None:
    """As found: 85 % of a step in the views, and 19 % of the model of an earlier cell in the diagnosis."""
    asked = diagnoses(BadRequest("In other words.", code=NO_MODEL))
    found = await asked.diagnose(b"", clients.Diagnose("d"))
    assert found.notes[0] == f"{BARE} These are the monitor's metrics of its last steps."
    assert found.communication is not None
    assert found.communication.share == MEASURED.share, "as all views say it"
    nothing = diagnoses(BadRequest("In other words.", code=NO_MODEL), Measured(ranks=2))
    with pytest.raises(BadRequest, match="In other words"):
        await nothing.diagnose(b"", clients.Diagnose("d"))


async def test_own_code_is_told_where_nothing_was_repeated() -> None:
    own = replace(MEASURED, share=0.05, beside=0.7)
    asked = diagnoses(BadRequest("", code=NO_MODEL), own)
    found = await asked.diagnose(b"", clients.Diagnose("d"))
    assert found.text == "Your loop's own code takes the time: 70 % ± 1 of a step."


async def test_another_refusal_with_the_same_words_is_passed_on() -> None:
    with pytest.raises(BadRequest):
        await diagnoses(BadRequest(GONE)).diagnose(b"", clients.Diagnose("d"))
