"""Other ways to train: what panel and debugger know of them, on the code of their notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

import dtrain_lab as dt
from tests.integration.debugger.cells import Running, lines
from tests.waiting import wait_until

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


def cells_of(name: str) -> list[str]:
    """A notebook's cells of ranks, without their magics."""
    notebook = nbformat.read(ROOT / "notebooks" / "ways" / f"{name}.ipynb", as_version=4)
    sources = [c.source for c in notebook.cells if c.cell_type == "code"]
    return [s.split("\n", 1)[1] for s in sources if s.startswith("%%distributed")]


def as_file(path: Path, text: str) -> str:
    """Code that runs a text as a file, so that breakpoints have a place."""
    path.write_text(text)
    return f"exec(compile(open({str(path)!r}).read(), {str(path)!r}, 'exec'), globals())"


@pytest.fixture(scope="module")
def cluster() -> Iterator[dt.Cluster]:
    with dt.start(ranks=2) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "line"),
    [("fsdp", "loss.backward()"), ("model_parallel", "loss.backward()"), ("pipeline", "losses = []")],
)
def test_all_ranks_step_together_and_their_steps_are_counted(
    cluster: dt.Cluster, name: str, line: str, tmp_path: Path
) -> None:
    build, train = cells_of(name)[:2]
    at = next(i for i, text in enumerate(train.splitlines(), 1) if line in text)
    cluster.run(build)
    call = as_file(tmp_path / "train.py", train)
    with cluster.debug() as debugger:
        debugger.set_breakpoint(str(tmp_path / "train.py"), at)
        cell = Running(cluster, call)
        debugger.wait(20, [0, 1])
        assert lines(debugger) == [at, at]
        if name != "pipeline":  # of a weight each rank has a part; the whole is a collective
            assert not debugger.across("model[0].weight").same
            assert debugger.evaluate("model[0].weight.full_tensor().shape", 0) == "torch.Size([256, 64])"
        for _ in range(3):  # in a pipeline, over a step of all microbatches
            debugger.step()
            debugger.wait(20, [0, 1])
        debugger.clear()
    assert cell.end().ok
    wait_until(lambda: told(cluster), 10, "steps and communication")
    if name != "pipeline":
        assert not cluster.diff("model").equal, "each rank has its part"


def told(cluster: dt.Cluster) -> bool:
    """The panel has the same steps of all ranks, and what they exchange."""
    ranks = cluster.info()["ranks"]
    counted = {r["step"] for r in ranks}
    return (
        len(counted) == 1 and (counted.pop() or 0) >= 3 and all((r["comm_overhead"] or 0) > 0 for r in ranks)
    )


def test_workers_of_a_parameter_server_have_steps_and_nobody_is_said_to_wait() -> None:
    build, train = cells_of("parameter_server")
    with dt.start(ranks=3) as cluster:
        cluster.run(build)
        said: set[str] = set()
        cluster.watch(lambda info: said.update(v.kind for v in info.metrics.verdicts), 0.2)
        # one worker is much slower; the other does not wait for it
        slow = "import time\n" + train.replace("model.zero_grad()", "time.sleep(0.02 * (rank == 1))")
        cluster.run(slow.replace("loss.backward()", "model.zero_grad(); loss.backward()"))
        wait_until(lambda: [r["step"] for r in cluster.info()["ranks"]] == [None, 100, 100], 10, "all steps")
        assert not said & {"slow", "stuck"}
