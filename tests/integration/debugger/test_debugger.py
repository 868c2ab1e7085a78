"""The debugger on real ranks: breakpoints, steps over collectives, faults; and that nothing is left of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import torch
from packaging.version import Version

import dtrain_lab as dt
from dtrain_lab.api.debug import Debugger
from dtrain_lab.errors import BadRequest, Conflict
from tests.integration.debugger.cells import RIGHT, Running, lines
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120), pytest.mark.usefixtures("tidy")]

SHORT = """from datetime import timedelta
import torch
import torch.distributed as dist
short = dist.new_group(timeout=timedelta(seconds=2))"""


def _paused(debugger: Debugger) -> list[int]:
    return [r.rank for r in debugger.state.ranks if r.phase == "paused"]


def test_all_ranks_step_together_over_a_collective_to_the_right_result(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    debugger.set_breakpoint(str(module), 7)
    cell = Running(cluster, "print(steps.train(rank))")
    assert debugger.wait(20, [0, 1]) == (0, 1)
    assert lines(debugger) == [7, 7]
    assert cluster.info()["state"] == "paused"
    assert cluster.info()["summary"]["text"] == f"Paused on 2 ranks at {module.name}, line 7."
    for line in (8, 9, 10):
        debugger.step()
        debugger.wait(20, [0, 1])
        assert lines(debugger) == [line, line]
        assert [rank["where"]["line"] for rank in cluster.info()["ranks"]] == [line, line]
    assert debugger.variables(1)["w"] == "4.0"
    assert debugger.evaluate("x.sum().item() + i", 1) == "2.0"
    with pytest.raises(BadRequest, match=r"^NameError: name 'nothing' is not defined$"):
        debugger.evaluate("nothing", 1)
    row = debugger.across("x")
    assert [g.ranks for g in row.groups] == [(0,), (1,)]
    assert row.groups[1].max_abs == 1.0
    assert debugger.across("w").text == "4 on all ranks"
    assert [frame.function for frame in debugger.stack(0)][:2] == ["step", "train"]
    view = cluster.view()  # paused ranks register with ipyparallel, too
    assert cell.result is None
    debugger.clear()
    debugger.go()
    assert cell.end().stdout == RIGHT
    assert view["rank"] == [0, 1]


@pytest.mark.parametrize("move", ["next", "stepOut", "stepIn"])
def test_a_step_from_a_cells_last_line_ends_with_that_cell(
    cluster: dt.Cluster, debugger: Debugger, move: str
) -> None:
    cell = Running(cluster, "def f():\n    breakpoint()\n    return rank\nf()")
    step = {"next": debugger.step, "stepOut": debugger.step_out, "stepIn": debugger.step_in}[move]
    debugger.wait(20, [0, 1])
    for _ in range(6):  # to the last line, and from it
        step()
        wait_until(lambda: cell.result is not None or len(_paused(debugger)) == 2, 20, "the step's end")
        if cell.result is not None:
            break
    assert cell.end().ok
    assert Running(cluster, "a = 1\nb = 2\nprint(a + b)").end().stdout == {0: "3\n", 1: "3\n"}


def test_a_rank_that_is_stepped_alone_waits_and_the_others_are_brought(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    debugger.set_breakpoint(str(module), 8, condition="i == 0")
    cell = Running(cluster, "print(steps.train(rank))")
    debugger.wait(20, [0, 1])
    debugger.look_at(1)
    debugger.steps("this")
    debugger.step()
    wait_until(lambda: debugger.state.waits, 10, "rank 1 to be said to wait")
    wait = debugger.state.waits[0]
    assert wait.ranks == (1,)
    assert wait.text == "Rank 1 waits in all_reduce for rank 0."
    operation = debugger.state.ranks[1].operation
    assert operation is not None
    assert operation.sequence == 1, "counted as verdicts do, in the cell"
    debugger._ask("dtrain/gather", {"rank": 1})
    wait_until(lambda: lines(debugger) == [9, 9], 20, "both ranks after the collective")
    debugger.steps("all")
    debugger.clear()
    debugger.go()
    assert cell.end().stdout == RIGHT


def test_a_waiting_rank_that_has_no_breakpoint_is_met_in_the_same_step(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    debugger.set_breakpoint(str(module), 8, condition="rank == 1")
    cell = Running(cluster, "print(steps.train(rank))")
    debugger.wait(20, [1])
    wait_until(lambda: debugger.state.waits, 10, "rank 0 to be said to wait")
    assert debugger.state.waits[0].reachable
    debugger._ask("dtrain/gather", {"rank": 0})
    wait_until(lambda: lines(debugger) == [9, 9], 20, "both ranks there: rank 0 doesn't wait in its next one")
    assert debugger.across("i").text == "0 on all ranks"
    debugger.clear()
    debugger.go()
    assert cell.end().stdout == RIGHT


LATE = """import time
import torch.distributed as dist
if rank == 1:
    plain = dist.ProcessGroup.__dict__["allreduce"]
    def late(self, *args, **kwargs):
        work = plain.__get__(self)(*args, **kwargs)
        work.wait()
        time.sleep(1)
        return work
    dist.ProcessGroup.allreduce = late"""


def test_others_are_not_brought_past_a_collective_that_a_slow_rank_comes_back_from(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    cluster.run(LATE)
    debugger.set_breakpoint(str(module), 7, condition="i == 0")
    cell = Running(cluster, "print(steps.train(rank))")
    debugger.wait(20, [0, 1])
    debugger.look_at(1)
    debugger.steps("this")
    debugger.step()
    debugger.wait(20, [0, 1])
    debugger.step()
    wait_until(lambda: debugger.state.waits, 10, "rank 1 to be said to wait")
    debugger._ask("dtrain/gather", {"rank": 1})
    wait_until(lambda: lines(debugger) == [9, 9], 20, "both ranks after the collective")
    debugger.detach()
    assert cell.end().stdout == RIGHT
    cluster.run("if rank == 1: dist.ProcessGroup.allreduce = plain")


def test_conditions_counts_and_log_points_by_rank(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    debugger.set_breakpoint(str(module), 6, log="y of {rank} at {i}: {x.sum().item()}")
    debugger.set_breakpoint(str(module), 9, condition="rank == 1", hit="2")
    cell = Running(cluster, "print(steps.train(rank))")
    assert debugger.wait(20) == (1,)
    assert debugger.evaluate("i", 1) == "1"
    with pytest.raises(BadRequest, match="The condition can't be read"):
        debugger.set_breakpoint(str(module), 9, condition="rank ==")
    debugger.clear()
    debugger.go()
    out = cell.end().stdout
    assert out[0].splitlines()[:2] == ["y of 0 at 0: 0.0", "y of 0 at 1: 0.0"]
    assert out[1].splitlines()[-1] == "24.0"


def test_a_condition_that_raises_is_told_and_stops_nowhere(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    debugger.set_breakpoint(str(module), 7, condition="nosuch > 3")
    said = Running(cluster, "print(steps.train(rank))").end().stderr
    for rank in range(2):
        assert said[rank].count("at steps.py:7 failed, so it did not stop: NameError: name 'nosuch'") == 1
    error = "NameError: name 'nosuch' is not defined (on ranks 0–1)"
    wait_until(lambda: debugger.state.points[0].error == error, 10, "the error of both ranks to be known")


@pytest.mark.parametrize("condition", ["", "rank >= 0"])
def test_a_message_that_raises_is_not_called_a_condition(
    cluster: dt.Cluster, debugger: Debugger, module: Path, condition: str
) -> None:
    debugger.set_breakpoint(str(module), 7, condition=condition, log="y is {nosuch}")
    said = Running(cluster, "print(steps.train(rank))").end().stderr
    for rank in range(2):
        told = "The message of the breakpoint at steps.py:7 failed, so it was not printed: NameError: "
        assert said[rank].count(told) == 1
        assert "condition" not in said[rank]
    debugger.clear()
    debugger.set_breakpoint(str(module), 7, condition="nosuch > 3", log="y is {y}")
    said = Running(cluster, "print(steps.train(rank))").end().stderr
    assert said[0].count("The condition of the breakpoint at steps.py:7 failed, so it did not stop") == 1


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("__import__('torch').ones(2) > 0", "RuntimeError: Boolean value of Tensor"),  # no truth value
        ("{}[object()]", "KeyError: <object object at"),  # another text in each pass
    ],
)
def test_a_condition_that_raises_differently_each_time_is_told_once(
    cluster: dt.Cluster, debugger: Debugger, module: Path, condition: str, why: str
) -> None:
    debugger.set_breakpoint(str(module), 9, condition=condition)
    result = Running(cluster, "print(steps.train(rank))").end()
    assert not result.failures
    for rank in range(2):
        assert result.stderr[rank].count("failed, so it did not stop") == 1
        assert why in result.stderr[rank]


def test_nothing_is_traced_without_it_and_after_it(cluster: dt.Cluster) -> None:
    tracing = "import sys, threading; print(sys.gettrace(), threading.gettrace())"
    bare = {0: "None None\n", 1: "None None\n"}
    assert cluster.run(tracing).stdout == bare
    with cluster.debug():
        if sys.version_info < (3, 12):  # newer ones are watched by sys.monitoring, which traces nothing
            assert "None" not in cluster.run("import sys; print(sys.gettrace())").stdout[0]
    assert cluster.run(tracing).stdout == bare
    assert cluster.run("print(steps.train(rank))").stdout == RIGHT


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer ones are watched by sys.monitoring")
def test_tracing_that_pydevd_sets_again_as_it_ends_is_over_with_the_next_cell(cluster: dt.Cluster) -> None:
    with cluster.debug():
        cluster.run("import sys; late = sys.gettrace(); assert late")
    cluster.run("sys.settrace(late)")
    assert cluster.run("print(sys.gettrace())").stdout == {0: "None\n", 1: "None\n"}


def test_a_busy_rank_is_paused_and_interrupted_while_it_stands(cluster: dt.Cluster, module: Path) -> None:
    cell = Running(cluster, "i = 0\nwhile True:\n    i += 1")
    wait_until(lambda: cluster.info()["ranks"][0]["state"] == "busy", 10, "the cell to run")
    with cluster.debug() as debugger:
        debugger.pause()
        debugger.wait(20, [0, 1])
        assert int(debugger.evaluate("i", 0)) > 0
        assert {rank.reason for rank in debugger.state.ranks} == {"pause"}
        cluster.interrupt()
        failures = cell.end().failures
        assert {f.kind for f in failures} == {"interrupted"}
        debugger.set_breakpoint(str(module), 9, condition="i == 1")
        again = Running(cluster, "print(steps.train(rank))")
        debugger.wait(20, [0, 1])
        debugger.go()
        assert again.end().stdout == RIGHT
    assert cluster.run("print(steps.train(rank))").stdout == RIGHT


STANDS = {
    "breakpoint": """import torch, torch.distributed as dist
i = done = 0
while True:
    i += 1
    if rank == 1 and i == 3:
        breakpoint()
    dist.all_reduce(torch.zeros(1))
    done = i""",
    "pause": """import time
i = done = 0
while rank == 0:
    time.sleep(0.1)
while True:
    done = i
    i += 1""",
}


@pytest.mark.parametrize("how", STANDS)
def test_an_interrupt_is_raised_where_a_paused_rank_stands(cluster: dt.Cluster, how: str) -> None:
    """Had it run on until the interrupt came, one rank would have trained further than the other."""
    with cluster.debug() as debugger:
        cell = Running(cluster, STANDS[how])
        if how == "pause":
            wait_until(lambda: cluster.info()["ranks"][1]["state"] == "busy", 10, "the cell to run")
            debugger.pause()
        debugger.wait(20, [1])
        stood = [int(debugger.evaluate(name, 1)) for name in ("i", "done")]
        cluster.interrupt()
        result = cell.end()
        assert {f.kind for f in result.failures} == {"interrupted"}
        assert [cluster.pull(name)[1] for name in ("i", "done")] == stood
        if how == "breakpoint":
            assert cluster.pull("done") == {0: 2, 1: 2}


def test_a_pause_inside_a_loop_of_collectives_finds_all_ranks(cluster: dt.Cluster) -> None:
    loop = """import torch, torch.distributed as dist
ends = torch.zeros(1)
while not ends.item():
    dist.all_reduce(ends)"""
    cell = Running(cluster, loop)
    wait_until(lambda: cluster.info()["ranks"][0]["state"] != "idle", 10, "the cell to run")
    with cluster.debug() as debugger:
        debugger.pause()
        debugger.wait(20, [0, 1])
        assert {frame.function for r in (0, 1) for frame in debugger.stack(r)} == {"<module>"}, (
            "the user's own"
        )
        debugger.go()
    cluster.interrupt()
    cell.end()


def test_an_interrupt_cancels_the_pause_of_a_rank_that_waits_in_a_collective(cluster: dt.Cluster) -> None:
    hang = """import time, torch, torch.distributed as dist
t = torch.zeros(1)
if rank == 0:
    dist.all_reduce(t)
while True:
    time.sleep(1)"""
    cell = Running(cluster, hang)
    wait_until(lambda: cluster.info()["ranks"][1]["state"] == "busy", 10, "the cell to run")
    with cluster.debug() as debugger:
        debugger.pause()
        debugger.wait(20, [1])  # rank 0 would pause as soon as it leaves the collective
        cluster.interrupt()
        assert {f.kind for f in cell.end().failures} == {"interrupted"}
        assert not [rank for rank in debugger.state.ranks if rank.phase == "paused"]
        assert cluster.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A pipe that a cell reads from until the test writes to it."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def test_a_pause_stops_the_main_thread_in_the_last_call_and_not_another_thread(
    cluster: dt.Cluster, gate: Path
) -> None:
    cluster.run(f"""import os, threading
gate = os.open({str(gate)!r}, os.O_RDWR)
stop = threading.Event()
def watch():
    while not stop.wait(0.02):
        pass
threading.Thread(target=watch, daemon=True).start()""")
    with cluster.debug() as debugger:
        cell = Running(cluster, "os.read(gate, 1)")
        wait_until(lambda: all(r["state"] == "busy" for r in cluster.info()["ranks"]), 10, "the cell to run")
        debugger.pause()
        debugger.wait(20, [0, 1])
        assert lines(debugger) == [1, 1]
        assert {r.reason for r in debugger.state.ranks} == {"pause"}
        assert debugger.evaluate("rank", 1) == "1"
        debugger.go()
        gate.write_bytes(b"ab")
        assert cell.end().ok
        assert cluster.run("stop.set()\nprint(rank)").stdout == {0: "0\n", 1: "1\n"}, "nothing stops later"


def test_a_pause_that_waits_for_a_collective_is_told_and_can_be_taken_back(
    cluster: dt.Cluster, gate: Path
) -> None:
    waits = f"""import os
import torch.distributed as dist
if rank == 0:
    os.read(os.open({str(gate)!r}, os.O_RDWR), 1)
dist.barrier()
x = 1"""
    for ends in ("by itself", "by go", "with the debugger"):
        cell = Running(cluster, waits)
        wait_until(lambda: cluster.info()["ranks"][1]["state"] == "in collective", 20, "rank 1 to wait")
        with cluster.debug() as debugger:
            debugger._ask("dtrain/pause", {"ranks": [1]})
            assert (debugger.state.code, debugger.state.pausing) == ("pausing", (1,))
            assert debugger.state.sentence == "Pausing rank 1: it stops when its current call returns."
            if ends == "by itself":
                gate.write_bytes(b"a")
                debugger.wait(20, [1])
                assert debugger.state.pausing == ()
                debugger.go()
                assert cell.end().ok
            elif ends == "by go":
                debugger._ask("dtrain/pause", {"ranks": [0]})
                debugger.wait(20, [0])
                debugger.go()
                assert debugger.state.pausing == ()
                gate.write_bytes(b"a")
                assert cell.end().ok, "nobody stops any more"
        if ends == "with the debugger":
            gate.write_bytes(b"a")
            assert cell.end().ok, "a pause that has not come ends with the debugger"


def test_time_outs_are_lifted_while_ranks_stand(cluster: dt.Cluster, module: Path) -> None:
    cluster.run(SHORT)
    with cluster.debug() as debugger:
        debugger.set_breakpoint(str(module), 6, condition="rank == 0")
        cell = Running(
            cluster,
            """steps.step(torch.ones(2), 0)
t = torch.ones(1)
dist.all_reduce(t, group=short)
print(t.item())""",
        )
        debugger.wait(20, [0])
        # rank 1 waits in a group whose time-out is over long before
        time.sleep(3)
        assert cluster.info()["metrics"]["verdicts"] == []
        debugger.clear()
        debugger.go()
        assert cell.end().stdout == {0: "2.0\n", 1: "2.0\n"}
    left = "print(short._get_backend(torch.device('cpu')).options._timeout)"
    assert cluster.run(left, ranks=[0]).stdout[0] == "0:00:02\n"


@pytest.mark.skipif(
    Version(torch.__version__) < Version("2.10"),
    reason="gloo keeps a group's first time-out",
)
def test_a_group_made_while_it_is_on_has_no_time_out_either(cluster: dt.Cluster, debugger: Debugger) -> None:
    made = """from datetime import timedelta
import torch, torch.distributed as dist
later = dist.new_group(timeout=timedelta(seconds=1))
if rank == 0:
    breakpoint()
    x = 1
t = torch.ones(1); dist.all_reduce(t, group=later); print(t.item())"""
    cell = Running(cluster, made)
    debugger.wait(20, [0])
    time.sleep(2)
    debugger.go()
    # before it torch 2.10 says how many peers a new group has
    assert [text.splitlines()[-1] for text in cell.end().stdout.values()] == ["2.0", "2.0"]


def test_where_a_cell_fails_its_variables_are_there(cluster: dt.Cluster, debugger: Debugger) -> None:
    debugger.stop_at_failure()
    code = """import torch.distributed as dist
def bad(n):
    secret = 41 + n
    return 1 / (n - 1)
bad(rank)
dist.barrier()"""
    cell = Running(cluster, code)
    assert debugger.wait(20) == (1,)
    assert debugger.stack(1)[0].function == "bad"
    assert debugger.variables(1)["secret"] == "42"
    wait_until(lambda: debugger.state.waits, 10, "rank 0 to be said to wait")
    assert not debugger.state.waits[0].reachable, "no step leads on from the error that ends a cell"
    said = "Paused on 1 rank: ZeroDivisionError: division by zero."
    assert debugger.state.sentence == f"{said} Rank 0 waits in barrier."
    line = re.escape("line 4: ZeroDivisionError: division by zero. Rank 0 waits in barrier.")
    assert re.fullmatch(rf"Paused on 1 rank at cell \[.+\], {line}", cluster.info()["summary"]["text"])
    debugger.go()
    assert "ZeroDivisionError" in cell.end().sentence


def test_after_the_fact_the_failure_can_be_looked_at(cluster: dt.Cluster, debugger: Debugger) -> None:
    result = cluster.run(
        "def late(n):\n    known = n * 2\n    raise ValueError(known)\nlate(rank)", check=False
    )
    assert "ValueError" in result.sentence
    cell = Running(cluster, "%debug")
    debugger.wait(20, [0, 1])
    assert debugger.variables(1)["known"] == "2"
    assert debugger.state.sentence == "Paused on 2 ranks. Rank 0 raised ValueError: 0."
    debugger.go()
    assert cell.end().ok


def test_an_interrupt_inside_the_debugger_is_looked_at_in_the_users_line(
    cluster: dt.Cluster, debugger: Debugger
) -> None:
    # by chance, an interrupt is raised in pydevd's compiled code, whose files are named without a folder
    code = """text = "def trace():\\n    raise KeyboardInterrupt"
exec(compile(text, "_pydevd_bundle/pydevd_cython.pyx", "exec"))
def late(n):
    known = n * 2
    trace()
late(rank)"""
    result = cluster.run(code, check=False)
    assert not result.ok
    assert "pydevd" not in str(result.failures)
    cell = Running(cluster, "%debug")
    debugger.wait(20, [0, 1])
    assert debugger.stack(1)[0].function == "late"
    assert debugger.variables(1)["known"] == "2"
    debugger.go()
    assert cell.end().ok


def test_without_it_breakpoint_says_so_and_debug_too(cluster: dt.Cluster) -> None:
    result = cluster.run("breakpoint()\nprint('on')")
    assert result.stdout == {0: "on\n", 1: "on\n"}
    assert "stops with the debugger on" in result.stderr[0]
    assert "stops with the debugger on" in cluster.run("%debug", check=False).sentence


def test_workers_of_a_data_loader_never_wait_in_a_breakpoint(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    debugger.set_breakpoint(str(module), 6)
    code = """import torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i):
        steps.dist = type("D", (), {"all_reduce": staticmethod(lambda z: None)})
        return steps.step(torch.ones(2), i)
print(sorted( torch.utils.data.DataLoader(Data(), num_workers=1, batch_size=None)))"""
    assert cluster.run(code, timeout=60).stdout[0] == "[4.0, 6.0, 8.0, 10.0]\n"


def test_a_collective_is_evaluated_on_all_ranks_or_refused(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    debugger.set_breakpoint(str(module), 9, condition="i == 0")
    cell = Running(cluster, "print(steps.train(rank))")
    debugger.wait(20, [0, 1])
    assert debugger.evaluate("dist.all_reduce(x) or x.tolist()", 0) == "[1.0, 1.0]"
    assert debugger.evaluate("x.tolist()", 1) == "[1.0, 1.0]", "it ran there, too"
    debugger.look_at(0)
    debugger.steps("this")
    debugger.go()
    wait_until(lambda: debugger.paused == (1,), 10, "rank 0 to run on")
    with pytest.raises(BadRequest, match="not all ranks are paused"):
        debugger.evaluate("dist.barrier()", 1)
    debugger.steps("all")
    debugger.clear()
    debugger.go()
    cell.end()


def test_a_huge_value_is_shown_short(cluster: dt.Cluster, debugger: Debugger) -> None:
    cluster.run("big = 'x' * 20_000_000\nmany = list(range(400_000))")
    row = debugger.across("big")
    assert len(row.groups[0].text) <= 200
    assert len(debugger.across("many").groups[0].text) <= 200
    cluster.run("del big, many")


def test_the_second_who_debugs_is_told_who_does(cluster: dt.Cluster, debugger: Debugger) -> None:
    other = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from dtrain_lab.api.start import connect\nconnect({cluster.name!r}).debug()",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "is debugging these ranks" in other.stderr


def test_ranks_run_on_when_whoever_debugs_is_killed(cluster: dt.Cluster, module: Path) -> None:
    code = f"""
import sys, time
from dtrain_lab.api.start import connect
debugger = connect({cluster.name!r}).debug()
debugger.set_breakpoint({str(module)!r}, 6)
print("set", flush=True)
time.sleep(600)
"""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "set\n"
        cell = Running(cluster, "print(steps.train(rank))")
        wait_until(lambda: cluster.info()["state"] == "paused", 20, "ranks to stand")
        holder.kill()
    assert cell.end().stdout == RIGHT


def test_a_rank_that_meets_its_breakpoint_while_the_debugger_goes_runs_on(cluster: dt.Cluster) -> None:
    with cluster.debug():
        pass
    module = "dtrain_lab.rank.debugger.tracing"
    late = f"import sys\nfrom {module} import stop_here\nstop_here(sys._getframe())\nprint('ran')"
    assert cluster.run(late, ranks=[1], timeout=20).stdout == {1: "ran\n"}
    assert cluster.info()["state"] == "ready"


def test_a_rank_that_dies_while_it_stands_fails_its_cell(module: Path) -> None:
    with dt.start(ranks=2) as cluster, cluster.debug() as debugger:
        cluster.run(f"import sys; sys.path.insert(0, {str(module.parent)!r})\nimport steps")
        debugger.set_breakpoint(str(module), 6)
        cell = Running(cluster, "print(steps.train(rank))")
        debugger.wait(20, [0, 1])
        os.kill(cluster.info()["ranks"][1]["pid"], signal.SIGKILL)
        wait_until(lambda: debugger.state.ranks[1].phase == "gone", 10, "the loss to be told")
        assert not cluster.info()["summary"]["text"].startswith("Paused")
        debugger.clear()
        if debugger.paused:
            debugger.go()
        assert "Rank 1 was lost" in cell.end().sentence
        cluster.restart([1])
        assert debugger.state.ranks[1].attached is False, "a new process, which nobody debugs yet"


def test_a_restart_takes_ranks_that_stand(module: Path) -> None:
    """Also where one has died beside them: a rank that stands in the debugger hears no signal by itself."""
    with dt.start(ranks=2) as cluster, cluster.debug() as debugger:
        cluster.run(f"import sys; sys.path.insert(0, {str(module.parent)!r})\nimport steps")
        debugger.set_breakpoint(str(module), 6)
        cell = Running(cluster, "print(steps.train(rank))")
        debugger.wait(20, [0, 1])
        os.kill(cluster.info()["ranks"][1]["pid"], signal.SIGKILL)
        wait_until(lambda: debugger.state.ranks[1].phase == "gone", 10, "the loss to be told")
        cluster.restart()
        assert "Rank 1 was lost" in cell.end().sentence
        assert cluster.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}


def test_what_is_not_paused_is_refused_in_words(cluster: dt.Cluster, debugger: Debugger) -> None:
    with pytest.raises(Conflict, match="No rank is paused"):
        debugger.step()
    with pytest.raises(BadRequest, match="is not paused"):
        debugger.stack(0)


def test_a_step_in_which_a_rank_was_held_is_no_step_of_the_figures(
    cluster: dt.Cluster, debugger: Debugger
) -> None:
    training = (
        "import dtrain_lab as dt, torch.distributed as dist\n"
        "for i in range(6):\n"
        "    if i == 3 and rank == 0:\n"
        "        breakpoint()\n"
        "    dist.barrier()\n"
        "    dt.step(1)"
    )
    cell = Running(cluster, training)
    assert debugger.wait(20, [0]) == (0,)
    wait_until(lambda: debugger.state.waits, 20, "rank 1 to wait for rank 0")
    debugger.go()
    assert cell.end().ok
    flags = (
        "from dtrain_lab.metrics import ring\n"
        "from dtrain_lab.training.rank_hooks import hooks\n"
        "records = ring.Reader(hooks.held.__self__.writer._bytes).last(6)\n"
        "print([bool(record.flags & ring.PAUSED) for record in records][:4])"
    )
    told = cluster.run(flags).stdout
    assert told == dict.fromkeys((0, 1), "[False, False, False, True]\n"), "rank 1 waited for rank 0"
