"""The magics in a real kernel."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.services import records
from tests.waiting import wait_until

pytestmark = pytest.mark.processes
WITHIN_S = 60


@dataclass
class Ran:
    """What a cell gave back."""

    status: str
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    data: list[dict[str, Any]] = field(default_factory=list)
    ranks: list[Any] = field(default_factory=list)


class Notebook:
    """A kernel and a front end."""

    def __init__(self, **environment: str) -> None:
        self.manager = KernelManager()
        self.manager.start_kernel(env={**os.environ, **environment})
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code: str, interrupt_when: Any = None) -> Ran:
        """Run a cell; all output up to idle."""
        message = self.client.execute(code)
        if interrupt_when is not None:
            threading.Thread(target=self._interrupt, args=(interrupt_when,)).start()
        ran = Ran("")
        while True:
            got = self.client.get_iopub_msg(timeout=WITHIN_S)
            if got["parent_header"].get("msg_id") != message:
                continue
            kind, content = got["msg_type"], got["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind == "stream":
                setattr(ran, content["name"], getattr(ran, content["name"]) + content["text"])
            elif kind == "error":
                ran.error = "\n".join(content["traceback"])
            elif kind == "display_data":
                ran.data.append(content["data"])
                ran.ranks.append(got["metadata"].get("rank"))
        reply = self.client.get_shell_msg(timeout=WITHIN_S)
        while reply["parent_header"].get("msg_id") != message:
            reply = self.client.get_shell_msg(timeout=WITHIN_S)
        ran.status = reply["content"]["status"]
        return ran

    def _interrupt(self, when: Any) -> None:
        wait_until(when, 20, "the moment to interrupt")
        self.manager.interrupt_kernel()

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel()


def by_rank(text: str) -> dict[int, list[str]]:
    """Lines of each rank, merged or not: whether they merge depends on when they come."""
    lines: dict[int, list[str]] = {}
    for line in (line for line in text.splitlines() if line.startswith("[")):
        label, _, rest = line.removeprefix("[").partition("] ")
        for rank in rank_sets.parse(label, 99):
            lines.setdefault(rank, []).append(rest)
    return lines


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    notebook = Notebook()
    assert notebook.run("%load_ext dtrain_lab").status == "ok"
    yield notebook
    notebook.close()
    wait_until(lambda: not records.living(), 10, "the kernel's clusters to end with it")


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
    wait_until(lambda: not [r for r in records.living() if r.name == "local-2"], 10, "its cluster to end")


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


def test_an_interrupt_of_the_kernel_interrupts_the_ranks_and_keeps_variables(started: Notebook) -> None:
    import dtrain_lab as dt

    cluster = next(c for c in dt.clusters() if c.name == "nb")
    started.run("%%distributed\nkept = rank")
    ran = started.run(
        "%%distributed\nimport time, torch.distributed as dist\n"
        "dist.barrier() if rank == 0 else time.sleep(600)",
        interrupt_when=lambda: cluster.info()["ranks"][0]["state"] == "in collective",
    )
    assert ran.error == "Ranks 0-1 were interrupted (rank 0 in barrier); variables are kept."
    assert by_rank(started.run("%%distributed\nprint(kept)").stdout) == {0: ["0"], 1: ["1"]}


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("%%distributed 7\n1", "There is no rank 7: the world has 2 ranks"),
        ("%%distributed 0,0\n1", "Rank 0 stands twice"),
        ("%%distributed\nx = (", "SyntaxError: '(' was never closed"),
        ("%%distributed --cluster nope\n1", 'There is no cluster "nope".'),
        ("%%distributed --timeout x\n1", "invalid float value"),
        ("%distributed start --ranks 0", "at least one rank"),
        ("%distributed start --ranks 5000", "more than this machine can hold"),
        ("%distributed start nope", 'There is no profile "nope".'),
        ("%distributed start --name nb", 'A cluster "nb" is running.'),
        ("%distributed", "needs a command"),
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


def test_push_pull_status_restart(started: Notebook) -> None:
    started.run("values = [1, 2]\n%distributed push values")
    assert started.run("%%distributed 0\nprint(values)").stdout == "[0] [1, 2]\n"
    assert started.run("%distributed pull rank\nprint(rank)").stdout == "{0: 0, 1: 1}\n"
    assert started.run("%distributed pull rank 1\nprint(rank)").stdout == "1\n"
    assert "nb: Ready. 2 ranks wait for a cell." in started.run("%distributed status").stdout
    assert "Rank 1 has a new process; its variables are gone" in started.run("%distributed restart 1").stdout
    assert "rank 0" in started.run("%distributed stacks").stdout


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


def test_zz_stop(started: Notebook) -> None:
    assert started.run("%distributed stop").stdout == "nb is stopped.\n"
