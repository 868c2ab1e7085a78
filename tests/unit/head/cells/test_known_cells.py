"""What the frame says of cells that run: no world, no socket."""

from __future__ import annotations

from dtrain_lab.head.cells.cell_queue import CellQueue
from dtrain_lab.head.cells.known_cells import KnownCells
from dtrain_lab.head.cells.running_cell import Running
from dtrain_lab.wire import clients


def test_a_cell_for_which_no_client_waits_is_marked() -> None:
    known = KnownCells(CellQueue(lambda _: True))
    for name, detached in {"[6]": True, "[7]": False}.items():
        order = clients.Run(cell=name, code="", label=name, detached=detached)
        known._cells[name] = Running(order, (0,), b"", None, {0}, 0.0, 0, began_at=1.0)
    assert [(cell.cell, cell.detached) for cell in known.running] == [("[6]", True), ("[7]", False)]
