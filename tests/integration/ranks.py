"""What tests of real ranks share."""

from __future__ import annotations

import threading
from typing import Any

import psutil

import dtrain_lab as dt
from tests.waiting import wait_until


def beside_ranks(cluster: dt.Cluster) -> list[psutil.Process]:
    """What the fork server has forked besides ranks: the controller, and its heart monitor."""
    ranks = {rank["pid"] for rank in cluster.info()["ranks"]}
    server = psutil.Process(min(ranks)).parent()
    assert server is not None
    others = [process for process in server.children(recursive=True) if process.pid not in ranks]
    # a child that has ended and is not reaped yet is no process of a controller
    return [p for p in others if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def in_background(work: Any) -> tuple[threading.Thread, list[Any]]:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return thread, results


def stands_in(cluster: dt.Cluster, rank: int, states: tuple[str, ...]) -> None:
    wait_until(lambda: cluster.info()["ranks"][rank]["state"] in states, 20, f"rank {rank} to be {states}")
