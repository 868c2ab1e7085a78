"""Cells on real ranks."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import BadCell, BadRankSet, BadRequest, CellFailed
from tests.books import shadow
from tests.faults import note
from tests.waiting import wait_until

pytestmark = pytest.mark.processes

ALL_REDUCE = """
import torch, torch.distributed as dist
t = torch.ones(1) * (rank + 1)
dist.all_reduce(t)
print(t.item())
"""


def test_every_rank_knows_itself_and_the_group_is_there(pair: dt.Cluster) -> None:
    result = pair.run("print(rank, local_rank, world_size, device)")
    assert result.stdout == {0: "0 0 2 cpu\n", 1: "1 1 2 cpu\n"}
    assert pair.run(ALL_REDUCE).stdout == {0: "3.0\n", 1: "3.0\n"}


def test_environment_and_threads(pair: dt.Cluster) -> None:
    names = (
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "NODE_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "DTRAIN_CHECKPOINT_DIR",
    )
    result = pair.run(
        f"import os, torch\nprint([os.environ[n] for n in {names!r}][:5], torch.get_num_threads())"
    )
    assert result.stdout[1] == "['1', '1', '2', '2', '0'] 1\n"


def test_a_rank_imports_nothing_that_it_could_share_and_looks_through_no_modules(pair: dt.Cluster) -> None:
    """With what a kernel and its shell did for themselves, each rank had twice the memory of its own."""
    result = pair.run(
        "from dtrain_lab.rank import preload\n"
        "print(preload.since())\n"
        "shell = get_ipython()\n"
        "print(shell.kernel._kernel_modules is preload.files, shell._sys_modules_keys is preload.names)"
    )
    assert result.stdout[1] == "[]\nTrue True\n"


def test_a_garbage_collection_ends_no_sharing_of_torchs_memory(pair: dt.Cluster) -> None:
    shared = "print(sum(int(l.split()[1]) for l in open('/proc/self/smaps_rollup') if 'Shared' in l))"
    before, after = (pair.run(code + shared).stdout for code in ("", "import gc; gc.collect()\n"))
    for rank in (0, 1):
        assert int(after[rank]) > 0.8 * int(before[rank]), (
            "in kB; a copy of each page would be the rank's own"
        )


@pytest.mark.parametrize("code", ["exit()", "quit", "import sys\nsys.exit()", "raise SystemExit(0)"])
def test_leaving_as_a_script_does_ends_the_cell_and_no_rank(pair: dt.Cluster, code: str) -> None:
    result = pair.run(f"{code}\nprint('not reached')" if "\n" in code else code)
    said = "dtrain-lab: exit ended this cell, and the ranks go on. To stop them: %distributed stop\n"
    assert (result.stdout, result.stderr) == ({0: "", 1: ""}, {0: said, 1: said})
    assert pair.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}


def test_an_exit_code_is_a_failure_with_its_place(pair: dt.Cluster) -> None:
    result = pair.run("import sys\nif rank: sys.exit(3)", check=False)
    assert result.sentence == "Rank 1 failed: SystemExit: 3."
    assert result.failures[0].frames[0].line == 2
    assert pair.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}


def test_a_subset_runs_alone(pair: dt.Cluster) -> None:
    assert pair.run("print(rank)", ranks="1").stdout == {1: "1\n"}
    assert pair.run("print(rank)", ranks=[0]).stdout == {0: "0\n"}


def test_values_magics_await_shell_and_stderr(pair: dt.Cluster) -> None:
    assert pair.run("6 * 7", ranks=[0]).data[0] == [{"text/plain": "42"}]
    result = pair.run(
        "%time x = 1\n!echo from the shell\nimport asyncio\nawait asyncio.sleep(0)\nx", ranks=[0]
    )
    assert "Wall time" in result.stdout[0]
    assert "from the shell" in result.stdout[0]
    assert pair.run("import sys; print('e', file=sys.stderr)", ranks=[0]).stderr == {0: "e\n"}


def test_c_level_and_child_output_comes_before_the_end(pair: dt.Cluster) -> None:
    code = "import os, subprocess\nos.write(1, b'raw\\n')\nsubprocess.run(['echo', 'child'])"
    assert sorted(pair.run(code, ranks=[0]).stdout[0].split()) == ["child", "raw"]


def test_all_output_is_there_when_the_cell_ends(pair: dt.Cluster) -> None:
    for number in range(30):
        code = f"import sys\nprint('out {number}')\nprint('err {number}', file=sys.stderr)"
        result = pair.run(code)
        assert set(result.stdout.values()) == {f"out {number}\n"}
        assert set(result.stderr.values()) == {f"err {number}\n"}


TICKS = """
import signal
def tick(*_):
    print("tick", flush=True)
    signal.setitimer(signal.ITIMER_REAL, 0.004)  # here: they would interrupt each other
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.004)
"""
QUIET = "signal.signal(signal.SIGALRM, signal.SIG_IGN); signal.setitimer(signal.ITIMER_REAL, 0)"
LATE = """
import os, signal, threading, time
def late(*_):
    open(f"{folder}/raised.{rank}", "w").close()
    raise TimeoutError("the cell took too long")
signal.signal(signal.SIGALRM, late)
def alarm():
    while not os.path.exists(f"{folder}/ended"):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGALRM)
threading.Thread(target=alarm).start()
"""


def test_a_handler_that_prints_all_the_time_holds_no_cell_up(pair: dt.Cluster) -> None:
    pair.run(TICKS)
    try:
        for n in range(60):
            result = pair.run("print('x')", timeout=8)  # a handler that waits for itself does so for 10 s
            assert "x" in result.stdout[0], n
    finally:
        pair.run(QUIET)


def test_a_handler_that_raises_after_its_cell_costs_no_rank(pair: dt.Cluster, tmp_path: Path) -> None:
    pair.run(f"folder = {str(tmp_path)!r}\nkept = rank{LATE}")
    (tmp_path / "ended").touch()
    raised = [tmp_path / f"raised.{rank}" for rank in (0, 1)]
    wait_until(lambda: all(file.exists() for file in raised), 20, "the handler on both ranks")
    assert pair.run("print(kept)").stdout == {0: "0\n", 1: "1\n"}
    pair.run("signal.signal(signal.SIGALRM, signal.SIG_DFL)")


def test_an_exception_names_rank_type_and_source_line(pair: dt.Cluster) -> None:
    with pytest.raises(CellFailed, match="Rank 1 failed: ZeroDivisionError: division by zero") as error:
        pair.run("def f(x):\n    return 1 / (1 - x)\n\nf(rank)")
    text = "\n".join(error.value._render_traceback_())
    assert "line 4" in text
    assert "----> 2     return 1 / (1 - x)" in text
    assert "rank/cells/runner.py" not in text


def test_an_error_that_is_not_checked_is_a_result(pair: dt.Cluster) -> None:
    result = pair.run("raise ValueError('no')", check=False)
    assert not result.ok
    assert [(f.rank, f.kind, f.type) for f in result.failures] == [
        (0, "raised", "ValueError"),
        (1, "raised", "ValueError"),
    ]


@pytest.mark.parametrize("ranks", ["7", "0,0", "x", [5], []])
def test_bad_rank_sets_are_refused_before_anything_runs(pair: dt.Cluster, ranks: object) -> None:
    with pytest.raises(BadRankSet):
        pair.run("print(1)", ranks=ranks)  # type: ignore[arg-type]


def test_a_syntax_error_fails_before_anything_is_sent(pair: dt.Cluster) -> None:
    with pytest.raises(BadCell, match="SyntaxError"):
        pair.run("x = (")


def test_a_time_out_interrupts_and_says_so(pair: dt.Cluster) -> None:
    result = pair.run("import time\ntime.sleep(60)", timeout=0.5, check=False)
    assert result.timed_out
    assert result.sentence.startswith("The cell took longer than 0.5 s. Ranks 0–1 were interrupted")
    with pytest.raises(BadRequest):
        pair.run("1", timeout=0)


def test_a_group_made_anew_after_an_interrupt_prints_nothing(pair: dt.Cluster) -> None:
    """A newer torch warns of calls that older ones had: the next cell would begin with it."""
    from dtrain_lab.wire import clients

    pair.run("print('before')")
    before = pair._portal.call(pair.ask(clients.ReadOutput()))[-1].seq
    pair.run(f"import time\nif rank: time.sleep(60){ALL_REDUCE}", timeout=1, check=False)
    assert not any(pair.run(ALL_REDUCE).stderr.values())
    later = pair._portal.call(pair.ask(clients.ReadOutput(after=before)))
    assert [output.text for output in later if output.kind == "stderr"] == []


def test_push_pull_and_view(pair: dt.Cluster) -> None:
    pair.push(a=[1, 2])
    pair.run("b = [rank] * 2")
    assert pair.pull("a", ranks="0") == {0: [1, 2]}
    assert pair.pull("b") == {0: [0, 0], 1: [1, 1]}
    assert sorted(pair.view().apply_sync(lambda: __import__("os").environ["RANK"])) == ["0", "1"]
    with pytest.raises(BadRequest, match="could not be pulled"):
        pair.pull("never_defined")
    with pytest.raises(BadRequest, match="is not the name"):
        pair.pull("a; b")


def test_modules_of_others_names_beside_the_notebook_end_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shadow(tmp_path))
    with dt.start(ranks=2, name="shadowed") as cluster:
        code = "import os, random, socket, torch\nprint(os.getcwd(), torch.ones(1).item())"
        for _ in range(2):
            began = time.monotonic()
            assert cluster.run(code).stdout == dict.fromkeys((0, 1), f"{tmp_path} 1.0\n")
            took = time.monotonic() - began
            cluster.restart([1])
    fault = "a file `random.py`, `socket.py`, `torch.py` or `logging.py` is in the notebook's folder"
    kept = "everything: ranks, head and agents use Python's and PyTorch's own modules"
    note(fault, "not needed", "–", kept, "a cell that imports them", took)


def test_text_that_is_no_unicode_ends_no_cell(pair: dt.Cluster) -> None:
    result = pair.run("print('\\udcff.txt')\nraise ValueError('\\ud800')", check=False, timeout=20)
    assert result.sentence == "Ranks 0–1 failed: ValueError: ?."
    assert result.stdout == {0: "?.txt\n", 1: "?.txt\n"}
    # not as the cell's first expression: Python 3.13 can't compile such a docstring
    assert pair.run("text = '\\ud800'\ntext", timeout=20).ok
    assert pair.run("class Mute:\n    def __repr__(self): raise ValueError('\\ud800')\nMute()", timeout=20).ok
    assert pair.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}


def test_a_load_balanced_view_spreads_calls(pair: dt.Cluster) -> None:
    pair.run("numbers = []")
    view = pair.view().client.load_balanced_view()
    assert view.map_sync(lambda x: x * x, range(20)) == [x * x for x in range(20)]
    first = view.apply_async(lambda: (__import__("time").sleep(1), __import__("os").getpid())[1])
    second = view.apply_async(lambda: __import__("os").getpid())
    assert {first.get(20), second.get(20)} == {r["pid"] for r in pair.info()["ranks"]}, "one is busy"
    assert pair.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}


def test_info_has_the_fields_of_the_contract(pair: dt.Cluster) -> None:
    info = pair.info()
    assert set(info) >= {
        "id", "name", "profile", "state", "reason", "summary", "world", "nodes", "ranks", "metrics",
        "progress", "notebooks", "owner", "may", "created_at", "ends_at", "idle_since",
    }  # fmt: skip
    assert set(info["ranks"][0]) >= {
        "rank", "node", "local_rank", "device", "pid", "state", "doing", "where", "slow", "unsure", "step",
        "steps_per_s", "samples_per_s", "step_s", "data_s", "transfer_s", "wait_s", "comm_overhead",
        "comm_overhead_error", "cpu_utilization", "memory_bytes", "device_memory_bytes",
        "device_memory_total_bytes", "device_utilization", "last_seen_s",
    }  # fmt: skip
    assert info["summary"]["text"] == "Ready. 2 ranks wait for a cell."
    assert [p["phase"] for p in info["progress"]] == ["load", "fork", "connect"]


def test_stacks_show_where_the_ranks_are(pair: dt.Cluster) -> None:
    stacks = pair.stacks()
    assert sorted(stacks) == [0, 1]
    assert all("Main thread" in text for text in stacks.values())


def test_the_journal_keeps_what_was_printed(pair: dt.Cluster) -> None:
    pair.run("print('kept')", ranks=[1])
    from dtrain_lab.wire import clients

    outputs = pair._portal.call(pair.ask(clients.ReadOutput()))
    assert (outputs[-1].text, outputs[-1].ranks, outputs[-1].kind) == ("kept\n", (1,), "stdout")
    assert pair._portal.call(pair.ask(clients.ReadOutput(after=outputs[-1].seq))) == []


def test_values_that_a_cell_logs_and_steps_that_it_tells(pair: dt.Cluster) -> None:
    code = (
        "import dtrain_lab as dt, torch, time\n"
        "for i in range(30):\n"
        "    dt.log(i, loss=torch.tensor(0.5), best=float('nan'))\n"
        "    time.sleep(0.01)\n"
        "    dt.step(8)"
    )
    pair.run(code)
    told = {"loss": 0.5, "best": "nan", "step": 29}
    wait_until(lambda: pair.info()["metrics"]["values"] == told, 10, "the values that it logged")
    wait_until(lambda: pair.info()["ranks"][1]["step"] == 30, 10, "the steps that it told")
    assert not pair.info()["ranks"][1]["unsure"]
    result = pair.run("dt.log(1, loss='much')", ranks="0", check=False)
    assert "dt.log: loss is of type str, but must be a number" in result.failures[0].message


def test_the_last_values_of_cells_that_follow_at_once_are_in_the_history(pair: dt.Cluster) -> None:
    for first in (1000, 2000):
        pair.run(
            "import dtrain_lab as dt, time\n"
            f"for i in range({first}, {first} + 20):\n"
            "    dt.log(i, average=True, level=float(rank))\n"
            "    time.sleep(0.01)\n"
        )
    wait_until(
        lambda: {1019, 2019} <= {p["values"].get("step") for p in pair.history()}, 10, "both last values"
    )
    assert pair.history()[-1]["values"]["level"] == 0.5


def test_who_is_interrupted_while_it_waits_interrupts_its_ranks(pair: dt.Cluster) -> None:
    pair.run("mine = rank")

    async def wait() -> None:
        running = asyncio.ensure_future(pair.run_async("import time\ntime.sleep(60)"))
        while (await pair.info_async())["ranks"][0]["state"] != "busy" and not running.done():
            await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(wait())
    began = time.monotonic()
    assert pair.run("print(mine)").stdout == {0: "0\n", 1: "1\n"}
    assert time.monotonic() - began < 40, "it waited for the other one's end"
