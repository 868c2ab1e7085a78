"""The endpoints of a head on another machine, as clients of clusters and of jobs read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dtrain_lab.errors import WireMismatch
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.services.connection import endpoints
from dtrain_lab.wire.processes.endpoints import Endpoints, Keys

FOUND = Endpoints("w", "node1", "python", 1, 0.0, "/d", ("tcp://l",), ("tcp://c",), Keys("", "", ""))


class Files:
    """A folder with one file, or none."""

    def __init__(self, text: bytes | None) -> None:
        self.text = text

    async def read(self, path: str, offset: int = 0) -> bytes | None:
        assert Path(path).name == job_files.ENDPOINTS
        return self.text


async def read(text: bytes | None) -> Endpoints | None:
    files: Any = Files(text)
    return await endpoints.read(files, "/d", "far")


async def test_a_newer_heads_endpoints_are_read() -> None:
    newer = {**msgspec.to_builtins(FOUND), "zone": "a"}
    newer["keys"]["scheme"] = "curve"
    assert await read(msgspec.json.encode(newer)) == FOUND


@pytest.mark.parametrize("text", [None, b""])
async def test_a_head_that_does_not_listen_yet_has_none(text: bytes | None) -> None:
    assert await read(text) is None


async def test_a_file_that_can_not_be_read_is_an_error_in_words() -> None:
    with pytest.raises(WireMismatch, match="The address of the head of far can't be read"):
        await read(b'{"id": ')
