"""SSH forwards of a process: where their local ends are."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from dtrain_lab.backends.hosts import ssh_forwards


class Link:
    """An SSH connection that forwards nothing."""

    async def forward_local_path(self, path: str, target: str) -> None:
        assert (Path(path).name, target) == ("client", "/head/client")


@pytest.mark.asyncio
async def test_a_forward_has_one_local_folder_however_often_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("asyncssh")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    links: list[Any] = [Link(), Link()]

    async def connection(_: str) -> Any:
        return links[0]

    monkeypatch.setattr(ssh_forwards.ssh_connections, "connection", connection)
    mine = ssh_forwards.Forwards()
    first = await mine.path("login", "/head/client")
    assert await mine.path("login", "/head/client") == first
    links.pop(0)
    assert await mine.path("login", "/head/client") == first, "a restored one keeps its local end"
    assert list(tmp_path.iterdir()) == [Path(first).parent]
