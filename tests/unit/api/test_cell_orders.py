from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dtrain_lab.api import cluster as api
from dtrain_lab.api.cluster import cells
from dtrain_lab.errors import BadRequest
from dtrain_lab.kernel.output import live_displays
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellResult


class Connection:
    """Ends each cell at once."""

    async def rank_set(self, _: Any) -> None:
        return None

    async def run(self, order: clients.Run, _: Any) -> CellResult:
        return CellResult(cell=order.cell, ranks=(0,))


def cluster() -> Any:
    portal: Any = None
    connection: Any = Connection()
    return api.Cluster(portal, connection)


def test_a_cell_is_checked_once_by_who_makes_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[str] = []
    monkeypatch.setattr(cells, "check_source", lambda code, *_: checks.append(code))
    order = clients.Run(cell="c", code="pass", label="[1]")
    asyncio.run(cluster().run_order(order))
    assert checks == []
    asyncio.run(cluster().run_here("pass"))
    assert checks == ["pass"]


@pytest.mark.parametrize("timeout", [0.0, -1, float("nan"), "5"])
def test_a_time_out_of_nothing_is_refused_before_the_cell_is_sent(timeout: Any) -> None:
    with pytest.raises(BadRequest, match="must be longer than 0 s"):
        asyncio.run(cluster().run_here("pass", timeout=timeout))


def test_a_cell_without_displays_asks_the_system_for_no_random_id(monkeypatch: pytest.MonkeyPatch) -> None:
    def token(_: int) -> str:
        raise AssertionError("the id is made on first use")

    monkeypatch.setattr(live_displays.secrets, "token_hex", token)
    live_displays.LiveDisplays(lambda *_: None).finish()
