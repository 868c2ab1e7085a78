"""`jobs/{id}/logs?wait=1`: answers with the next line, or at the job's end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dtrain_lab.server.routes import jobs
from tests.books import write

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

PRINTS = """import os, time
print("begins", flush=True)
for name in ("first", "bar", "last"):
    print("\\r 30%|###       | 3/10", end="", flush=True) if name == "last" else None
    while not os.path.exists(f"{folder}/{name}"):
        time.sleep(0.02)
    print("\\nlast" if name == "last" else name, flush=True)"""


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    return {"ServerApp": {"jpserver_extensions": {"dtrain_lab": True}}}


async def test_a_request_waits_for_the_next_line_and_for_the_end(
    jp_fetch: Any, jp_root_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write(jp_root_dir / "a.ipynb", [(f"folder = {str(tmp_path)!r}", "parameters"), PRINTS])
    sent = json.dumps({"notebook": "a.ipynb", "ranks": 1})
    job = json.loads((await jp_fetch("dtrain-lab", "jobs", method="POST", body=sent)).body)["id"]
    offset = "start"

    async def next_piece() -> Any:
        nonlocal offset
        path = ("dtrain-lab", "jobs", job, "logs")
        piece = json.loads((await jp_fetch(*path, params={"offset": offset, "wait": "1"})).body)
        offset = piece["offset"]
        return piece

    async def lines_to(text: str) -> list[str]:
        seen: list[str] = []
        while text not in seen:
            piece = await next_piece()
            assert piece["lines"] or piece["bars"], "no answer without news, while the job runs"
            seen += [line["text"] for line in piece["lines"]]
        return seen

    await lines_to("begins")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "LOG_WITHIN_S", 0.2)
        assert (await next_piece())["lines"] == [], "nothing is new for a while"
    waits = asyncio.create_task(lines_to("first"))
    (tmp_path / "first").touch()
    assert await waits == ["first"]
    (tmp_path / "bar").touch()
    while not (piece := await next_piece())["bars"]:
        assert piece["lines"], "an answer with nothing has swallowed the bar"
    (tmp_path / "last").touch()
    assert "last" in await lines_to("last")
    while not (piece := await next_piece())["end"]:
        assert piece["lines"] or piece["bars"]
