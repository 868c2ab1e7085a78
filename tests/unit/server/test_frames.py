"""Frames of `live`: what a page reads of columns is what it reads of ranks one by one."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dtrain_lab.server.frames import FrameTexts, columns_of, encode
from dtrain_lab.wire.cluster import Cluster, Rank, World
from dtrain_lab.wire.metrics.verdicts import Advice
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.site import LiveFrame
from dtrain_lab.wire.summary import Summary


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


def sent(metrics: Metrics, *, columns: bool) -> Any:
    """A cluster of ranks that took steps, as a page receives it."""
    of_ranks = tuple(
        msgspec.structs.replace(rank, memory_bytes=1, steps_per_s=4.0, asleep_s=0.1) for rank in ranks(2)
    )
    cluster = Cluster(
        "c", "c", "local", "ready", None, Summary("ready", {}, "Ready."), World(2, 0), (), of_ranks, metrics,
        (), (), "ada", (), 0.0,
    )  # fmt: skip
    [told] = json.loads(encode(LiveFrame("clusters", 1, (cluster,)), columns=columns))["clusters"]
    return told["metrics"], rows(told["ranks"])[1] if columns else told["ranks"][1]


def test_a_page_receives_no_metrics_of_steps_that_are_not_taken_any_more() -> None:
    advice = (Advice("accumulate", "Accumulate", 1.5, 0.1, "", ""),)
    metrics = Metrics(step_s=0.2, comm_overhead_error=0.1, asleep_s=0.1, advice=advice)
    world, rank = sent(metrics, columns=True)
    assert (world["step_s"], rank["steps_per_s"]) == (0.2, 4.0)
    ended = msgspec.structs.replace(metrics, current=False)
    world, rank = sent(ended, columns=True)
    assert [world[name] for name in ("step_s", "comm_overhead_error", "asleep_s")] == [None] * 3
    assert [rank[name] for name in ("step_s", "steps_per_s", "asleep_s")] == [None] * 3
    assert (rank["step"], rank["memory_bytes"]) == (7, 1), "these hold also without steps"
    assert len(world["advice"]) == 1, "advice on the last loop stays"
    assert sent(ended, columns=False)[1]["steps_per_s"] == 4.0, "REST says what was measured last"


def test_pages_that_receive_the_same_share_an_encoding_and_have_their_own_numbers() -> None:
    texts, encoded = FrameTexts(), 0
    frame = LiveFrame("clusters", 0, (), ended={"a": Summary("stopped", {}, '"seq":0,')})

    def made() -> str:
        nonlocal encoded
        encoded += 1
        return encode(frame, columns=True)

    for seq in (3, 12):
        assert json.loads(texts.numbered(seq, "columns", made)) == {
            **json.loads(encode(frame, columns=True)),
            "seq": seq,
        }
    assert encoded == 1
    texts.numbered(4, "list", made)
    assert encoded == 2
    texts.clear()
    texts.numbered(5, "columns", made)
    assert encoded == 3
