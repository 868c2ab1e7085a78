"""Frames of `live`: what a page reads of columns is what it reads of ranks one by one."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dtrain_lab.server.frames import columns_of
from dtrain_lab.wire.cluster import Rank


def rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """As the page does it."""
    return [
        {**columns["same"], **{field: values[i] for field, values in columns["each"].items()}}
        for i in range(columns["count"])
    ]


def ranks(count: int) -> list[Rank]:
    return [
        Rank(
            rank=i,
            node="a",
            local_rank=i,
            device="cpu",
            pid=100 + i,
            state="busy",
            step=7,
            step_s=0.25 + i / 3,
            wait_s=None if i else 0.125,
        )
        for i in range(count)
    ]


def test_columns_say_the_same_as_ranks_one_by_one() -> None:
    for count in (0, 1, 3):
        sent = ranks(count)
        read = json.loads(msgspec.json.encode(columns_of(sent)))
        expected = [{**msgspec.to_builtins(rank), "step_s": round(rank.step_s or 0, 6)} for rank in sent]
        assert rows(read) == expected


def test_what_is_the_same_for_all_is_sent_once() -> None:
    columns = columns_of(ranks(3))
    assert columns["same"]["node"] == "a"
    assert columns["same"]["samples_per_s"] is None
    assert set(columns["each"]) == {"rank", "local_rank", "pid", "step_s", "wait_s"}


def test_a_figure_that_is_no_number_is_kept() -> None:
    [rank] = ranks(1)
    columns = columns_of([msgspec.structs.replace(rank, step_s=float("nan"))])
    assert msgspec.json.decode(msgspec.json.encode(columns))["same"]["step_s"] is None
