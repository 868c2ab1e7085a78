"""What tests that debug a job share."""

from __future__ import annotations

from functools import partial

import pytest

from dtrain_lab.api.job import Job
from dtrain_lab.errors import Conflict, Unreachable
from tests.waiting import wait_until


def in_loop(job: Job) -> bool:
    """Its ranks run the notebook's last cell; at first its head is not there yet."""
    try:
        return "[3]" in str(job.stacks())
    except (Conflict, Unreachable):
        assert job.state in ("queued", "starting", "running"), job.logs()
        return False


def look_around(job: Job) -> None:
    """Pause a job in its loop, stop at a breakpoint, step, look; and let it go."""
    wait_until(partial(in_loop, job), 60, "the loop")
    with job.debug() as debugger:
        debugger.pause()
        debugger.wait(30, [0, 1])
        debugger.set_breakpoint("[1]", 5, condition="i > 3")
        debugger.go()
        debugger.wait(30, [0, 1])
        assert [r.place.line for r in debugger.state.ranks if r.place is not None] == [5, 5]
        assert [str(frame) for frame in debugger.stack(1)] == [
            "cell [1]:5, in step",
            "cell [3]:4, in <module>",
        ]
        assert debugger.across("x").groups[1].max_abs == 1.0
        debugger.step()
        debugger.wait(30, [0, 1])
        assert debugger.evaluate("y.tolist()", 0) == "[2.0, 2.0]"
        with pytest.raises(Conflict, match="is debugging these ranks"):
            job.debug()
