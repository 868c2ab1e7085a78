"""What a debugger meets in people's code: threads, workers, compiled functions, blank lines, lost files."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.api.debug import Debugger
from dtrain_lab.errors import BadRequest
from tests.integration.debugger.cells import Running, lines

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120), pytest.mark.usefixtures("tidy")]

CODE = """
import threading
import torch

def inner(x):

    # a comment
    y = x + 1
    return y

def compiled(x):
    y = x * 2
    z = y + 1
    return z

fast = torch.compile(compiled, backend="eager")

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return inner(torch.ones(1) * i)

def in_thread(x):
    found = []
    def work():
        found.append(inner(x))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]
"""
INNER = 8
"""The first line of `inner` that runs."""
COMPILED = 13
"""In `compiled`."""


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {"people.py": CODE}


@pytest.fixture(scope="module")
def imports() -> str:
    return "import people, torch"


@pytest.mark.parametrize("line", [6, 7])
def test_on_a_blank_line_or_a_comment_it_stops_at_the_next_that_runs(
    cluster: dt.Cluster, debugger: Debugger, module: Path, line: int
) -> None:
    debugger.set_breakpoint(str(module), line)
    assert [p.line for p in debugger.state.points] == [INNER]
    cell = Running(cluster, "print(people.inner(rank))")
    assert debugger.wait(20, [0, 1]) == (0, 1)
    assert lines(debugger) == [INNER, INNER]
    debugger.go()
    assert cell.end().stdout == {0: "1\n", 1: "2\n"}


def test_a_file_that_is_not_there_is_refused_by_name(debugger: Debugger, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=r"There is no file .*nowhere\.py on "):
        debugger.set_breakpoint(str(tmp_path / "nowhere.py"), 3)
    assert debugger.state.points == (), "it is not kept"


def test_a_thread_of_the_users_stops_and_goes_on(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    debugger.set_breakpoint(str(module), INNER)
    cell = Running(cluster, "print(people.in_thread(rank))")
    assert debugger.wait(20, [0, 1]) == (0, 1)
    assert lines(debugger) == [INNER, INNER]
    assert [f.function for f in debugger.stack(1)][:2] == ["inner", "work"]
    assert debugger.variables(1)["x"] == "1"
    debugger.step()
    debugger.wait(20, [0, 1])
    assert lines(debugger) == [INNER + 1, INNER + 1]
    debugger.go()
    assert cell.end().stdout == {0: "1\n", 1: "2\n"}


def test_spawned_workers_never_wait_in_a_breakpoint(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    debugger.set_breakpoint(str(module), INNER)
    code = """loader = torch.utils.data.DataLoader(
    people.Data(), num_workers=1, batch_size=None, multiprocessing_context="spawn")
print([x.item() for x in loader])"""
    assert cluster.run(code, ranks=[0], timeout=90).stdout[0] == "[1.0, 2.0, 3.0]\n"


def test_ranks_in_different_cells_stop_each_in_its_own(cluster: dt.Cluster, debugger: Debugger) -> None:
    cells = {0: "a = rank + 10\nb = a * 2\nprint(b)", 1: "c = rank + 20\nd = c * 3\ne = d\nprint(e)"}
    for rank, code in cells.items():
        cluster.run(code, ranks=[rank])
    first = Running(cluster, "breakpoint()\n" + cells[0], ranks=[0])
    second = Running(cluster, "breakpoint()\n" + cells[1], ranks=[1])
    assert debugger.wait(20, [0, 1]) == (0, 1)
    for _ in range(2):
        debugger.step()
        debugger.wait(20, [0, 1])
    assert lines(debugger) == [4, 4]
    assert debugger.variables(0)["b"] == "20"
    assert debugger.variables(1)["d"] == "63"
    debugger.go()
    assert first.end().stdout[0] == "20\n"
    assert second.end().stdout[1] == "63\n"


def test_what_is_compiled_has_no_lines_and_it_says_what_to_do(
    cluster: dt.Cluster, debugger: Debugger, module: Path
) -> None:
    debugger.set_breakpoint(str(module), COMPILED)
    code = "print(people.fast(torch.ones(1) * rank).item())"
    result = cluster.run(code, timeout=60)
    assert result.stdout == {0: "1.0\n", 1: "3.0\n"}
    assert 'torch.compiler.set_stance("force_eager")' in result.stderr[0]
    cluster.run('torch.compiler.set_stance("force_eager")')
    cell = Running(cluster, code)
    assert debugger.wait(20, [0, 1]) == (0, 1)
    assert lines(debugger) == [COMPILED, COMPILED]
    assert debugger.variables(1)["y"] == "tensor([2.])"
    debugger.go()
    done = cell.end()
    assert done.stdout == {0: "1.0\n", 1: "3.0\n"}
    assert "force_eager" not in done.stderr.get(0, "")
    cluster.run('torch.compiler.set_stance("default")')
