"""The log of a failed agent is kept where its sentence says."""

from __future__ import annotations

from pathlib import Path

from dtrain_lab.head.nodes import agent_logs
from dtrain_lab.wire.plan import NodeFacts
from dtrain_lab.wire.processes.settings import HeadSettings


def test_the_log_of_a_failed_agent_outlives_the_heads_folder(tmp_path: Path) -> None:
    (tmp_path / "head").mkdir()
    record = tmp_path / "records" / "1.json"
    node = NodeFacts("here", "127.0.0.1", 2, 0, 1 << 30)
    settings = HeadSettings("1", str(tmp_path / "head"), str(record), "", node)
    record.parent.mkdir()
    assert agent_logs.copy_log(settings, 0) == "Its log could not be kept."
    (tmp_path / "head" / "node.0.log").write_text("")
    assert agent_logs.copy_log(settings, 0) == "Its log is empty."
    (tmp_path / "head" / "node.0.log").write_text("Segmentation fault\n")
    kept = record.parent / "logs" / "1.node.0.failed.log"
    assert agent_logs.copy_log(settings, 0) == f"Its log: {kept}"
    assert kept.read_text() == "Segmentation fault\n"
