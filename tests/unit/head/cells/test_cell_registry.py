"""What the frame says of cells that run: no world, no socket."""

from __future__ import annotations

from dtrain_lab.head.cells.cell_queue import CellQueue
from dtrain_lab.head.cells.cell_registry import CellRegistry
from dtrain_lab.head.cells.running_cell import Running
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import WaitingCell


def test_a_cell_for_which_no_client_waits_is_marked() -> None:
    registry = CellRegistry(CellQueue(lambda _: True))
    for name, detached in {"[6]": True, "[7]": False}.items():
        order = clients.Run(cell=name, code="", label=name, detached=detached)
        registry._cells[name] = Running(order, (0,), b"", None, {0}, 0.0, 0, began_at=1.0)
    assert [(cell.cell, cell.detached) for cell in registry.running] == [("[6]", True), ("[7]", False)]


def test_a_post_mortem_is_named_by_the_cell_that_failed() -> None:
    registry = CellRegistry(CellQueue(lambda _: True))
    cell = clients.Run(cell="a", code="", label="[5]", notebook="debug.ipynb", cell_id="five")
    registry._remember(Running(cell, (0, 1), b"", None, set(), 0.0, 0, began_at=1.0))
    order = clients.Run(cell="b", code="%debug", label="%debug", kind="post_mortem", failed="a")
    registry._cells["b"] = Running(order, (1,), b"", None, {1}, 0.0, 0, began_at=2.0)
    (running,) = registry.running
    assert (running.cell, running.notebook, running.cell_id) == ("[5]", "debug.ipynb", "five")
    assert (running.ranks, running.started_at, running.kind) == ((1,), 2.0, "post_mortem")


def test_what_a_cell_is_does_not_depend_on_its_name() -> None:
    queue = CellQueue(lambda _: True)
    registry = CellRegistry(queue)
    for name, kind in {"a": "post_mortem", "b": "cell"}.items():
        order = clients.Run(cell=name, code="", label="[7]", kind=kind)  # type: ignore[arg-type]
        queue.add(name, (0,), lambda: None)
        registry._cells[name] = Running(order, (0,), b"", None, {0}, 0.0, 0, began_at=None)
    first, second = registry.records()
    assert (first.kind, second.kind) == ("post_mortem", "cell")
    assert [waits.kind for waits in second.waits_for] == ["post_mortem"]


def test_the_frame_tells_which_cells_wait_and_of_which_notebooks() -> None:
    registry = CellRegistry(CellQueue(lambda _: True))
    for name, began_at, asked_at in [("[2]", 1.0, 1.0), ("[9]", None, 3.0), ("[4]", None, 2.0)]:
        order = clients.Run(
            cell=name, code="", label=name, notebook=f"/w/{name[1]}.ipynb", cell_id=f"id {name}"
        )
        registry._cells[name] = Running(order, (0,), b"", None, {0}, asked_at, 0, began_at=began_at)
    assert registry.queued == (
        WaitingCell("[4]", "/w/4.ipynb", "id [4]"),
        WaitingCell("[9]", "/w/9.ipynb", "id [9]"),
    )
