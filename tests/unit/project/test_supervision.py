"""Background work: what escapes is logged, counted, told, and begun anew; nothing ends without a word."""

from __future__ import annotations

import ast
import asyncio
import logging
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dtrain_lab.api.portal import Portal
from dtrain_lab.errors import Conflict
from dtrain_lab.machine import backoff, supervision
from dtrain_lab.machine.logs import event_logs
from dtrain_lab.machine.task_names import LOOPS, ONCE
from dtrain_lab.wire.loop_failures import merged

FAULTS = (OSError(116, "Stale file handle"), sqlite3.OperationalError("locked"), msgspec.DecodeError("odd"))
PACKAGE = Path(supervision.__file__).parents[1]
STARTERS = frozenset({"create_task", "ensure_future", "Thread", "Timer", "TaskGroup"})
ALLOWED = {
    "machine/supervision.py": "the one place",
    "api/portal.py": "the thread that carries the loop; calls, whose callers wait; the task that ends it",
    "backends/hosts/bridge.py": "two pumps that their own function waits for",
    "backends/hosts/ssh_connections.py": "an attempt to connect, which whoever asked waits for",
    "backends/slurm/queue.py": "one question to the scheduler, which all who asked wait for",
    "cli/adapter/stdio.py": "two that their own function waits for",
    "head/membership.py": "waited for where it is made",
    "node/sources/spawn.py": "waited for where they are made",
    "node/stage.py": "a process of its own that has no loop; its end is its report",
    "rank/debugger/adapter.py": "a rank: pydevd's installation, waited for; its answer goes to whoever asked",
    "rank/cells/runner.py": "a rank: the user's cell",
    "rank/debugger/debugger.py": "a rank: a request of a debugger, answered with what failed",
    "rank/torch/nccl.py": "a rank: aborts of NCCL, waited for where they are made",
    "rank/data/fingerprint.py": "a rank: prints objects, waited for within a limit",
    "rank/output/executed_notebook.py": "a rank: the notebook that is kept beside",
    "rank/debugger/job_debugger.py": "a rank: a thread that sleeps until somebody debugs",
    "rank/engine.py": "registering is one attempt: the head is told how it ended, and asks again",
    "rank/link/main_tasks.py": "a rank: an order on the main thread, whose end is the reply",
    "training/averages.py": "a rank: a thread that collects means for `dt.log`, and says what fails",
    "rank/output/streams.py": "a rank: ipykernel's thread for the pipe of C code",
    "services/index/async_index.py": "a thread that waits for the index; what fails is told to whoever asked",
    "rank/output/widgets.py": "a rank: a widget's message while a cell runs, answered with what failed",
    "services/worlds/open_connections.py": "a connection that opens, which whoever needs it waits for",
    "services/worlds/undo.py": "work that its own function waits for, also if it is cancelled",
    "services/jobs/status.py": "one look at a job, which whoever asked waits for",
}


def test_back_off_grows_and_ends_where_it_has_recovered() -> None:
    state, waits = backoff.LoopState(), []
    for _ in range(12):
        state, _nothing = backoff.step(state, backoff.Began(0.0))
        state, after = backoff.step(state, backoff.Failed(1.0))
        waits.append(after)
    assert waits[:3] == [0.2, 0.4, 0.8]
    assert waits[-1] == backoff.MOST_S
    state, _nothing = backoff.step(state, backoff.Began(100.0))
    state, after = backoff.step(state, backoff.Failed(100.0 + backoff.HEALTHY_S))
    assert (after, state.restarts, state.in_a_row) == (0.2, 13, 1)


def test_troubles_of_several_processes_are_counted_together() -> None:
    once = supervision.noted(None, "head.watch", "OSError", 1.0)
    twice = supervision.noted(once, "head.watch", "KeyError", 2.0)
    both = merged((once,), (twice,))
    assert [t.text for t in both] == ['Background task "watching ranks" restarted 3 times (KeyError)']
    assert once.text == 'Background task "watching ranks" restarted once (OSError)'


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("name", sorted(LOOPS))
async def test_each_loop_goes_on_and_says_so(
    name: str, fault: Exception, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "FIRST_S", 0.001)
    supervisor, begun, goes_on, told = supervision.here(), [0], asyncio.Event(), []
    supervisor.on_failure.append(told.append)

    async def work() -> None:
        begun[0] += 1
        if begun[0] == 1:
            raise fault
        goes_on.set()
        await asyncio.Event().wait()

    handle = supervisor.start_loop(name, work)
    async with asyncio.timeout(5):
        await goes_on.wait()
    assert [(t.name, t.kind, t.times) for t in supervisor.failures] == [(name, "restarted", 1)]
    assert told
    record = next(r for r in caplog.records if name in r.getMessage())
    assert record.exc_info is not None
    handle.cancel()
    async with asyncio.timeout(5):
        await handle.wait()
    assert name not in supervisor.names
    await supervisor.close()


async def test_a_failure_of_work_that_is_done_once_reaches_whoever_waits() -> None:
    supervisor, reasons = supervision.here(), list[Exception]()
    done = asyncio.Event()

    def failed(error: Exception) -> None:
        reasons.append(error)
        if len(reasons) == 2:
            done.set()

    async def breaks(error: Exception) -> None:
        raise error

    supervisor.once("head.answer", breaks(KeyError("rank")), failed)
    supervisor.once("head.answer", breaks(Conflict("No.")), failed)
    async with asyncio.timeout(5):
        await done.wait()
    assert [t.times for t in supervisor.failures] == [1], "what is of the world is no trouble of ours"
    await supervisor.close()


async def test_the_end_of_what_a_loop_waits_for_is_not_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_S", 0.001)
    begun, again = [0], asyncio.Event()

    async def work() -> None:
        begun[0] += 1
        if begun[0] == 2:
            again.set()
            return
        other: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        other.cancel()
        await other

    handle = supervision.here().start_loop("client.watch", work)
    async with asyncio.timeout(5):
        await again.wait()
        await handle.wait()
    await supervision.here().close()


async def test_one_that_fails_at_its_end_does_not_begin_anew() -> None:
    begun, runs = [0], asyncio.Event()

    async def work() -> None:
        begun[0] += 1
        runs.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("gone")

    handle = supervision.here().start_loop("server.panel", work)
    async with asyncio.timeout(5):
        await runs.wait()
        handle.cancel()
        await handle.wait()
    assert begun == [1]
    assert supervision.here().failures == ()
    await supervision.here().close()


async def test_one_that_fails_ends_no_other() -> None:
    supervisor, lives = supervision.here(), asyncio.Event()

    async def stays() -> None:
        await asyncio.Event().wait()

    async def breaks() -> None:
        lives.set()
        raise RuntimeError("once")

    handle = supervisor.start_loop("head.watch", stays)
    supervisor.once("head.answer", breaks())
    async with asyncio.timeout(5):
        await lives.wait()
    await asyncio.sleep(0)
    assert not handle.done
    await supervisor.close()
    assert handle.done


def test_what_escapes_from_callbacks_of_a_kernel_s_portal_is_counted() -> None:
    portal = Portal("python", None, None, None)

    async def breaks() -> tuple[Any, ...]:
        told = asyncio.Event()
        supervision.here().on_failure.append(lambda _: told.set())
        asyncio.get_running_loop().call_soon(lambda: {}["rank"])
        async with asyncio.timeout(5):
            await told.wait()
        return supervision.here().failures

    try:
        assert [(t.name, t.times) for t in portal.call(breaks())] == [("callback", 1)]
    finally:
        portal.close()


def test_names_are_given_before_they_are_used() -> None:
    with pytest.raises(KeyError):
        supervision.noted(None, "of.nobody", "", 0.0)


def test_background_work_begins_in_one_place() -> None:
    """As a linter would: whoever starts a task or a thread elsewhere has to say why nobody misses its end."""
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and _name(node.func) in STARTERS
    }
    assert found - set(ALLOWED) == set(), "use machine.supervision, or say here why not"
    gone = {name for name in ALLOWED if (PACKAGE / name).exists()} - found - {"services/jobs/jobs.py"}
    assert gone == set(), "nothing begins there any more"


def test_no_work_is_begun_whose_end_nobody_hears_of() -> None:
    """A future that is dropped takes what escapes from its work along."""
    begins = STARTERS | {"run_coroutine_threadsafe"}
    dropped = [
        f"{file.relative_to(PACKAGE)}:{node.lineno}"
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and _name(node.value.func) in begins - {"Thread"}
    ]
    assert dropped == []


def test_every_name_is_used() -> None:
    text = "".join(f.read_text() for f in PACKAGE.rglob("*.py") if f.name != "supervision.py")
    unused = [n for n in {**LOOPS, **ONCE} if f'"{n}"' not in text and n != "callback"]
    assert unused == []


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_a_log_has_one_line_an_event_and_does_not_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_logs, "MOST_BYTES", 20_000)
    handler = event_logs.to_file(tmp_path / "head.events.log", "dtrain_lab.test")
    logger: Any = logging.getLogger("dtrain_lab.test")
    try:
        for number in range(300):
            try:
                raise ValueError("two\nlines")
            except ValueError:
                logger.exception("event %s", number)
    finally:
        logger.removeHandler(handler)
        handler.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) == 1 + event_logs.KEPT
    assert sum(f.stat().st_size for f in files) < 4 * 20_000
    lines = [line for f in files for line in f.read_text().splitlines()]
    assert all("ERROR dtrain_lab.test[" in line and "two\\nlines" in line for line in lines)


def test_a_log_on_a_disk_that_is_gone_ends_nothing_and_loses_no_record(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    handler = event_logs.to_file(tmp_path / "gone" / "head.events.log", "dtrain_lab.test")
    try:
        logging.getLogger("dtrain_lab.test").warning("still here")
    finally:
        logging.getLogger("dtrain_lab.test").removeHandler(handler)
    assert capfd.readouterr().err.endswith("still here\n")
