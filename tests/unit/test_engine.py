"""The engine inside a rank, without processes."""

from __future__ import annotations

from typing import Any

from dtrain_lab.rank.main import RankEngine


def test_a_port_at_which_nobody_listens_is_not_tried_for_ever() -> None:
    engine = RankEngine()
    engine.connection_info = {"interface": "tcp://127.0.0.1", "task": 7001, "mux": 7002}
    reached: list[str] = []

    def connect(stream: Any, url: str, curve_serverkey: bytes | None = None) -> None:
        reached.append(url)

    to = engine._but_tasks(connect)
    for port in (7001, 7002):
        to(None, f"tcp://127.0.0.1:{port}", curve_serverkey=b"key")
    assert reached == ["tcp://127.0.0.1:7002"]
