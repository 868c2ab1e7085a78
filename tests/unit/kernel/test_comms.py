"""Which widgets of ranks a kernel has: a reloaded page asks each of them for its state, and waits for all."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from dtrain_lab.kernel.output.comms import Comms
from dtrain_lab.wire.links import CellOutput


class Manager:
    """The kernel's comms."""

    def __init__(self) -> None:
        self.comms: dict[str, Any] = {}

    def register_comm(self, comm: Any) -> None:
        self.comms[comm.comm_id] = comm


def comms(manager: Manager) -> Comms:
    shell = SimpleNamespace(kernel=SimpleNamespace(comm_manager=manager))
    target: Any = SimpleNamespace(connection=SimpleNamespace(keep_output=lambda *_: None))
    return Comms(shell, None, target, lambda _: None)  # type: ignore[arg-type]


def output(kind: Any, comm_id: str, cell: str) -> CellOutput:
    data = json.dumps({"comm_id": comm_id, "target_name": "jupyter.widget", "data": {}}).encode()
    return CellOutput(cell=cell, rank=1, kind=kind, data=data, pid=7)


def test_a_widget_that_another_cell_closes_is_gone() -> None:
    manager = Manager()
    first, second = comms(manager), comms(manager)
    first.see(output("comm_open", "bar", "a"))
    first.see(output("comm_open", "slider", "a"))
    assert set(manager.comms) == {"bar", "slider"}
    second.see(output("comm_close", "bar", "b"))
    assert set(manager.comms) == {"slider"}


def test_a_widget_of_the_kernel_itself_is_none_of_the_ranks() -> None:
    manager = Manager()
    manager.comms["own"] = object()
    comms(manager).see(output("comm_close", "own", "a"))
    assert set(manager.comms) == {"own"}
