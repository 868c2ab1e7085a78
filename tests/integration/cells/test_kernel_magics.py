"""The magics in a real kernel."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import dtrain_lab as dt
from dtrain_lab.api.start import connect
from dtrain_lab.kernel.output.cell_display import PATIENT_S
from dtrain_lab.services import notebook_clusters
from dtrain_lab.services.connection import head_records
from tests.faults import note
from tests.integration.kernels import Notebook, by_rank
from tests.waiting import wait_until

pytestmark = pytest.mark.processes
CLOCK = re.compile(r"\b\d\d:\d\d\b")


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    notebook = Notebook()
    assert notebook.run("%load_ext dtrain_lab").status == "ok"
    yield notebook
    notebook.close()
    wait_until(lambda: not head_records.living(), 10, "the kernel's clusters to end with it")


@pytest.fixture(scope="module")
def started(notebook: Notebook) -> Notebook:
    ran = notebook.run("%distributed start --ranks 2 --name nb")
    assert ran.status == "ok", ran.error
    assert "nb is ready: 2 ranks on 1 node, in " in ran.stdout
    return notebook


def test_without_a_cluster_and_auto_start_off_it_says_what_to_do() -> None:
    notebook = Notebook(DTRAIN_LAB_AUTO_START="0", DTRAIN_LAB_WARM="0")
    try:
        notebook.run("%load_ext dtrain_lab")
        for code in ("%%distributed\nprint(1)", "%distributed status", "%distributed stop"):
            ran = notebook.run(code)
            assert (ran.status, ran.error) == (
                "error", "No cluster is running.\nStart one: %distributed start",
            )  # fmt: skip
    finally:
        notebook.close()


def test_a_cell_without_a_cluster_starts_the_default_one_and_says_so() -> None:
    notebook = Notebook()
    try:
        notebook.run("%load_ext dtrain_lab")
        ran = notebook.run("%%distributed\nprint('hello', rank)")
        assert ran.status == "ok", ran.error
        assert "local-2 is ready: 2 ranks on 1 node" in ran.stdout
        assert "[1] hello 1\n" in ran.stdout
    finally:
        notebook.close()
    wait_until(
        lambda: not [r for r in head_records.living() if r.name == "local-2"], 10, "its cluster to end"
    )


def test_output_is_labelled_and_values_are_shown(started: Notebook) -> None:
    ran = started.run("%%distributed\nimport sys\nprint('out')\nprint('err', file=sys.stderr)\nrank + 1")
    assert by_rank(ran.stdout) == {0: ["out", "1"], 1: ["out", "2"]}
    assert by_rank(ran.stderr) == {0: ["err"], 1: ["err"]}


def test_ranks_are_where_the_notebook_is(started: Notebook, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("VALUE = 41")
    here = started.run("import os; print(os.getcwd())").stdout.strip()
    said = started.run("%%distributed\nimport os; print(os.getcwd())").stdout
    assert by_rank(said) == {0: [str(here)], 1: [str(here)]}
    code = (
        f"%%distributed\nos.chdir({str(tmp_path)!r})\nimport beside; print(beside.VALUE); os.chdir({here!r})"
    )
    assert by_rank(started.run(code).stdout) == {0: ["41"], 1: ["41"]}


def test_figures_come_with_their_rank(started: Notebook) -> None:
    ran = started.run("%%distributed\nfrom IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))")
    assert [d["text/html"] for d in ran.data] == ["<b>x</b>"] * 2
    assert sorted(ran.ranks) == [0, 1]


def test_lines_count_from_the_magic_and_cells_have_their_number(started: Notebook) -> None:
    number = int(started.run("print(len(In) - 1)").stdout)
    ran = started.run("%%distributed 1\n\n\nx = 1\n1 / 0")
    assert ran.status == "error"
    assert "Rank 1 failed: ZeroDivisionError: division by zero." in ran.error
    assert f"cell [{number + 1}], line 5" in ran.error
    assert "----> 5 1 / 0" in ran.error


def test_an_interrupt_says_where_there_was_nothing_to_interrupt(started: Notebook) -> None:
    ran = started.run("%distributed interrupt")
    assert ran.stdout.strip().endswith("runs no cell: nothing was interrupted.")


def test_an_interrupt_of_the_kernel_interrupts_the_ranks_and_keeps_variables(started: Notebook) -> None:
    cluster = next(c for c in dt.clusters() if c.name == "nb")
    started.run("%%distributed\nkept = rank")
    ran = started.run(
        "%%distributed\nimport time, torch.distributed as dist\n"
        "dist.barrier() if rank == 0 else time.sleep(600)",
        interrupt_when=lambda: cluster.info()["ranks"][0]["state"] == "in collective",
    )
    assert ran.error == "Ranks 0–1 were interrupted (rank 0 in barrier); variables are kept."
    assert by_rank(started.run("%%distributed\nprint(kept)").stdout) == {0: ["0"], 1: ["1"]}


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("%%distributed 7\n1", "There is no rank 7: there are 2 ranks"),
        ("%%distributed 0,0\n1", "Rank 0 appears twice"),
        ("%%distributed --cluster nope\n1", 'There is no cluster "nope".'),
        ("%%distributed --timeout x\n1", '--timeout takes a number, not "x".'),
        ("%%distributed --no-wiat\n1", 'has no option "--no-wiat". Did you mean --no-wait?'),
        ("%distributed statsu", 'has no command "statsu". Did you mean status?'),
        ("%distributed start --rank 3", 'has no option "--rank". Did you mean --ranks?'),
        ("%distributed start local ranks=3", 'does not take "ranks=3". Did you mean --ranks?'),
        ("%distributed pull", "%distributed pull needs VAR."),
        ("%distributed start --ranks 0", "at least one rank"),
        ("%distributed start --ranks 5000", "too many for this machine"),
        ("%distributed start nope", 'There is no profile "nope".'),
        ("%distributed start --ranks 3 --name nb", 'A cluster "nb" is running.'),
        ("%distributed push nothing_here", "nothing_here is not defined here"),
        ("%distributed pull nothing_here", "nothing_here could not be pulled"),
        ("%distributed restart 9", "There is no rank 9"),
    ],
)
def test_bad_input_is_one_clear_sentence(started: Notebook, code: str, part: str) -> None:
    ran = started.run(code)
    assert ran.status == "error"
    assert part in ran.error
    assert "Traceback" not in ran.error
    assert len(ran.error.splitlines()) <= 2


def test_a_name_of_a_cluster_of_another_size_says_both_sizes(started: Notebook) -> None:
    ran = started.run("%distributed start --ranks 3 --name nb")
    assert ran.status == "error"
    assert ran.error.splitlines() == [
        'A cluster "nb" is running. It has 2 ranks; the new one would have 3.',
        "Attach to it: %distributed attach nb; then change its size: %distributed resize 3. "
        "Or stop it, or choose another name.",
    ]


@pytest.mark.parametrize("again", ["--ranks 2 --name nb", "--ranks 2", "--name nb", "--nodes 1"])
def test_a_notebook_that_is_run_twice_keeps_its_cluster(started: Notebook, again: str) -> None:
    started.run("%%distributed\nonce = rank")
    ran = started.run(f"%distributed start {again}")
    assert ran.stdout == "nb is already running: 2 ranks on 1 node; variables are kept.\n"
    assert by_rank(started.run("%%distributed\nprint(once)").stdout) == {0: ["0"], 1: ["1"]}
    assert [r.name for r in head_records.living() if not r.warm] == ["nb"]


def test_a_notebook_whose_cluster_has_ended_does_not_go_on_with_another_one(started: Notebook) -> None:
    mine = Notebook(JPY_SESSION_NAME="/my/ended.ipynb")
    try:
        mine.run("%load_ext dtrain_lab\n%distributed start --ranks 1 --name mine")
        connect("mine").stop()
        # its kernel learns of the end a moment later
        status = "%distributed status"
        wait_until(lambda: "was stopped" in mine.run(status).stdout, 30, "the kernel to know it")
        looked = CLOCK.sub("12:04", mine.run(status).stdout)
        assert looked.startswith(
            "mine, which this notebook used, was stopped by a Python program at 12:04. "
            "This is about nb:\nnb: Ready"
        )
        told = CLOCK.sub("12:04", mine.run("%%distributed\nprint(rank)").error)
        assert told.splitlines() == [
            "mine, which this notebook used, was stopped by a Python program at 12:04. Running: nb.",
            "Use one: %distributed attach nb; or start one: %distributed start",
        ]
        assert CLOCK.sub("12:04", mine.run("%distributed stop").error).splitlines() == [
            "This notebook has no cluster: mine was stopped by a Python program at 12:04. Running: nb.",
            "To stop nb: %distributed attach nb, then %distributed stop; or start one: %distributed start",
        ]
        assert [r.name for r in head_records.living() if not r.warm] == ["nb"]
        # the panel has started one for it
        [nb] = [r for r in head_records.living() if not r.warm]
        notebook_clusters.remember("/my/ended.ipynb", notebook_clusters.UsedCluster(nb.id, begun=True))
        assert by_rank(mine.run("%%distributed\nprint(world_size)").stdout) == {0: ["2"], 1: ["2"]}
    finally:
        mine.close()


def test_a_cluster_of_others_is_shared_with_a_word_and_never_ended_or_changed(started: Notebook) -> None:
    one, other = (Notebook(JPY_SESSION_NAME=f"/elsewhere/{name}.ipynb") for name in ("owner", "other"))
    try:
        for each in (one, other):
            each.run("%load_ext dtrain_lab")
        one.run("%distributed attach nb")
        for command in ("stop", "restart", "resize 3", "interrupt"):
            verb = command.split()[0]
            assert other.run(f"%distributed {command}").error.splitlines() == [
                "This notebook has no cluster. Running: nb (used by owner.ipynb).",
                f"To {verb} nb: %distributed attach nb, then %distributed {command}; "
                "or start one: %distributed start",
            ]
            assert "nb: Ready" in other.run("%distributed status").stdout, "which does not attach to it"
        told = other.run("%%distributed 0\nprint('shared')").stdout
        assert told.splitlines() == [
            "Runs on nb, which owner.ipynb uses, too: they share its variables. "
            "For a cluster of this notebook's own: %distributed start",
            "[0] shared",
        ]
        assert other.run("%%distributed 0\nprint('again')").stdout == "[0] again\n"
        assert "still runs" not in other.run("%distributed start --ranks 1 --name own").stdout
        assert other.run("%distributed start --ranks 2 --name second").stdout.splitlines()[-1] == (
            "own (1 rank) still runs, with its variables. "
            "To stop it: %distributed attach own, then %distributed stop. "
            "To change its size instead: %distributed attach own, then %distributed resize 2."
        )
        one.run("%distributed attach second")
        assert other.run("%distributed stop").stdout == (
            "second is stopped. It was also used by owner.ipynb, whose variables there are gone, too.\n"
        )
        # their kernels keep these, but run no cell there
        assert other.run("%distributed attach").stdout.splitlines() == [
            "nb: 2 ranks, used earlier by this notebook and owner.ipynb",
            "own: 1 rank, used earlier by this notebook",
            "Use it in this notebook: %distributed attach nb",
        ]
        assert "no cluster: second was stopped by this notebook at " in other.run("%distributed stop").error
        assert {r.name for r in head_records.living() if not r.warm} == {"nb", "own"}
    finally:
        one.close()
        other.close()
    wait_until(
        lambda: "own" not in {r.name for r in head_records.living()}, 10, "the kernel's clusters to end"
    )


def test_a_cluster_that_another_notebook_uses_is_not_taken(started: Notebook) -> None:
    one, other = (Notebook(JPY_SESSION_NAME=f"/elsewhere/{name}.ipynb") for name in ("one", "other"))
    try:
        for each in (one, other):
            each.run("%load_ext dtrain_lab")
        assert one.run("%distributed attach nb").status == "ok"
        assert 'A cluster "nb" is running.' in other.run("%distributed start --ranks 2 --name nb").error
        assert "nb is already running" in started.run("%distributed start --ranks 2 --name nb").stdout
    finally:
        one.close()
        other.close()


def test_a_cluster_that_the_panel_has_started_for_a_notebook_is_used_by_its_start(started: Notebook) -> None:
    [running] = [r for r in head_records.living() if not r.warm]
    paths = ["/panel/one.ipynb", "/panel/other.ipynb"]
    for path in paths:  # as the server does
        notebook_clusters.remember(path, notebook_clusters.UsedCluster(running.id, begun=True))
    one, other = (Notebook(JPY_SESSION_NAME=path) for path in paths)
    try:
        for each in (one, other):
            each.run("%load_ext dtrain_lab")
        used = one.run("%distributed start --ranks 2")
        assert used.stdout == "Using nb, which was started in the panel: 2 ranks on 1 node.\n"
        assert "nb is already running" in one.run("%distributed start").stdout
        # the first notebook uses it now
        assert 'A cluster "nb" is running.' in other.run("%distributed start --ranks 2 --name nb").error
    finally:
        one.close()
        other.close()


def test_a_kernel_that_was_restarted_keeps_its_notebooks_cluster() -> None:
    notebook = Notebook(
        JPY_PARENT_PID=str(os.getpid()), JPY_SESSION_NAME="/my/own.ipynb", DTRAIN_LAB_WARM="0"
    )
    try:
        start = "%load_ext dtrain_lab\n%distributed start --ranks 2"
        assert "local-2 is ready" in notebook.run(start).stdout
        held = connect("local-2")  # as the server does
        try:
            notebook.manager.restart_kernel(now=True)
            notebook.client.wait_for_ready(timeout=60)
            again = notebook.run(start).stdout
            assert again == "local-2 is already running: 2 ranks on 1 node; variables are kept.\n"
        finally:
            held.stop()
    finally:
        notebook.close()


def test_help_is_short_and_says_what_there_is(started: Notebook) -> None:
    said = started.run("%distributed").stdout
    assert "  stop       Stop this notebook's cluster." in said.splitlines()
    assert len(said.splitlines()) < 24
    assert "--from R" in started.run("%distributed restart --help").stdout
    assert "--by-rank" in started.run("%%distributed --help\n1").stdout


def test_push_pull_status_restart(started: Notebook) -> None:
    started.run("values = [1, 2]\n%distributed push values")
    assert started.run("%%distributed 0\nprint(values)").stdout == "[0] [1, 2]\n"
    assert started.run("%distributed pull rank\nprint(rank)").stdout == "{0: 0, 1: 1}\n"
    assert started.run("%distributed pull rank 1\nprint(rank)").stdout == "1\n"
    assert "nb: Ready. 2 ranks wait for a cell." in started.run("%distributed status").stdout
    assert "Rank 1 has a new process; its variables are gone" in started.run("%distributed restart 1").stdout
    assert started.run("%distributed stacks").stdout.startswith("Ranks 0–1: idle\n")
    assert started.run("%distributed where").stdout == "[0] idle\n[1] idle\n"
    assert "No training steps were measured yet." in started.run("%distributed advise").stdout
    assert started.run("import dtrain_lab as dt; print(dt.advise())").stdout == "[]\n"
    shown = started.run("from IPython.lib.pretty import pretty; print(pretty(dt.advise()))").stdout
    assert shown.startswith("[]: No training steps were measured yet.")


def test_a_name_that_only_the_notebooks_kernel_has_is_pushed_as_the_error_says(started: Notebook) -> None:
    started.run("import math\nwidth = 128")
    ran = started.run("%%distributed\nprint(width)")
    assert "Ranks 0–1 failed: NameError: name 'width' is not defined." in ran.error
    assert ran.error.endswith(
        "\n\nHint: width is a variable of the notebook's kernel: `%distributed push width` copies it to the "
        "ranks."
    )
    started.run("%distributed push width")
    assert started.run("%%distributed 0\nprint(width)").stdout == "[0] 128\n"
    lacks = started.run("%%distributed 0\nmath.pi").error
    assert "math is a module of the notebook's kernel: import it in a %%distributed cell, too." in lacks
    assert "Hint" not in started.run("%%distributed 0\nnowhere").error


def test_a_second_notebook_attaches_to_the_same_cluster(started: Notebook) -> None:
    other = Notebook()
    try:
        other.run("%load_ext dtrain_lab")
        assert "This notebook uses nb." in other.run("%distributed attach nb").stdout
        started.run("%%distributed\nshared = 'of the first'")
        assert other.run("%%distributed 1\nprint(shared)").stdout == "[1] of the first\n"
        assert 'no cluster "x"' in other.run("%distributed attach x").error
    finally:
        other.close()
    assert started.run("%%distributed 0\nprint('still here')").stdout == "[0] still here\n"


def test_a_head_that_stands_holds_up_no_notebook(started: Notebook) -> None:
    [head] = [r.pid for r in head_records.living() if not r.warm]
    [cluster] = dt.clusters()
    interrupted: list[float] = []
    free = threading.Event()

    def stop() -> bool:
        if not cluster.info()["running"]:
            return False
        os.kill(head, signal.SIGSTOP)
        interrupted.append(time.monotonic())
        return True

    def interrupt_again() -> None:
        """As somebody who loses patience: the kernel obeys `PATIENT_S` after the first interrupt."""
        while not free.wait(1):
            if interrupted:
                started.manager.interrupt_kernel()

    again = threading.Thread(target=interrupt_again)
    again.start()
    try:
        ran = started.run("%%distributed\nimport time\ntime.sleep(60)", interrupt_when=stop)
        took = time.monotonic() - interrupted[0]
    finally:
        free.set()
        again.join()
        os.kill(head, signal.SIGCONT)
    assert "The notebook no longer waits" in ran.stderr
    assert took > PATIENT_S, "it was patient"
    note(
        "the head of a cluster hangs while a cell runs, and the cell is interrupted repeatedly",
        "your notebook, 8 s after the first interrupt",
        ran.stderr.strip(),
        "everything, once the head continues",
        "first interrupt → the cell has returned",
        took,
    )
    assert started.run("print('free')").stdout == "free\n"
    wait_until(lambda: not cluster.info()["running"], 30, "the interrupt to reach the ranks")
    assert started.run("%%distributed\nprint('on')").status == "ok"


def test_zz_stop(started: Notebook) -> None:
    assert started.run("%distributed stop").stdout == "nb is stopped.\n"


def test_after_a_stop_the_next_start_takes_over_the_fork_server() -> None:
    fork_server = "%%distributed 0\nimport os\nprint(os.getppid())"
    notebook = Notebook()
    try:
        notebook.run("%load_ext dtrain_lab\n%distributed start --ranks 2 --name first")
        before = notebook.run(fork_server).stdout
        assert notebook.run("%distributed stop").stdout == "first is stopped.\n"
        assert "first" not in {r.name for r in head_records.living()}
        notebook.run("%distributed start --ranks 3 --name second")
        assert notebook.run(fork_server).stdout == before, "torch is still loaded there"
        assert by_rank(notebook.run("%%distributed\nprint(world_size)").stdout) == {
            r: ["3"] for r in range(3)
        }
        # once more: what was handed on can be handed on
        notebook.run("%distributed stop")
        notebook.run("%distributed start --ranks 1")
        assert notebook.run(fork_server).stdout.split()[-1] == before.split()[-1]
    finally:
        notebook.close()
    wait_until(lambda: not psutil.pid_exists(int(before.split()[-1])), 10, "the fork server to end, too")
