"""Views: ipyparallel's controller and registered engines exist only once someone asks for a view."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

import dtrain_lab as dt
from tests.integration.ranks import beside_ranks, in_background

pytestmark = pytest.mark.processes


def connections(cluster: dt.Cluster, processes: list[psutil.Process]) -> set[int]:
    """Ports of these processes to which ranks are connected."""
    ports = {c.laddr.port for p in processes for c in p.net_connections("inet") if c.status == "LISTEN"}
    ranks = [psutil.Process(rank["pid"]) for rank in cluster.info()["ranks"]]
    return {c.raddr.port for p in ranks for c in p.net_connections("inet") if c.raddr} & ports


def test_a_view_in_a_long_cell_starts_the_controller_and_new_ranks_find_it(tmp_path: Path) -> None:
    go = tmp_path / "go"
    waits = (
        f"import os, time\nwhile rank and not os.path.exists({str(go)!r}): time.sleep(0.01)\ndist.barrier()"
    )
    with dt.start(ranks=2, name="views") as cluster:
        cluster.run("import torch.distributed as dist\ndist.barrier()")
        assert beside_ranks(cluster) == []
        folder = Path(cluster._connection.record.directory)
        assert not list(folder.glob("ipp/security/*.json")), "nothing to connect to"

        cell, cells = in_background(lambda: cluster.run(waits))
        view = cluster.view()  # rank 1 sleeps, and rank 0 waits in a collective
        call, calls = in_background(lambda: view.apply_sync(os.getpid))
        assert cell.is_alive()
        beside = beside_ranks(cluster)
        assert len(beside) == 2
        assert len(connections(cluster, beside)) >= 7
        go.touch()
        for thread in (cell, call):
            thread.join(30)
        assert cells[0].ok
        assert calls == [[rank["pid"] for rank in cluster.info()["ranks"]]]

        cluster.restart([1])
        assert cluster.view().apply_sync(os.getpid) == [rank["pid"] for rank in cluster.info()["ranks"]]
        cluster.resize(3)
        view = cluster.view()
        assert view["rank"] == [0, 1, 2]
        # larger than a limit of frames that would hold back a flood: ipyparallel's controller can't have one
        view.push({"large": bytes(3 << 20)}, block=True)
        assert view.pull("large", block=True) == [bytes(3 << 20)] * 3
        assert {p.pid for p in beside_ranks(cluster)} == {p.pid for p in beside}, "still the same"
