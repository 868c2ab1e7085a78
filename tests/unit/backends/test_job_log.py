"""Finding in a job's log, on this machine and by a remote host's tools."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dtrain_lab.backends.base import Place
from dtrain_lab.backends.hosts import line_counts
from dtrain_lab.backends.hosts.base import Done, Transport
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.backends.hosts.ssh_transport import SshTransport
from dtrain_lab.errors import Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.node.sources.job_log import Output
from dtrain_lab.services.jobs import log as job_log
from dtrain_lab.wire.jobs.log import LogBars, LogPiece

LINES = (
    "100.001 0 o loss 1.5 of a[0]",
    "100.002 1 o loss 2.5 of a[0]",
    "100.003 11 o loss 3.5 of a[0]",
    "100.004 1 e what (a+b)* {2}|$x^ is",
    "100.005 0 o 1 o loss",
    "100.006 0 o loss 6.5",
    "100.007 0 o GRÖßE of [a]",
)


class Beside(SshTransport):
    """A remote host's commands, run on this machine."""

    async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        return await LocalTransport().run(command, stdin, within_s)


@pytest.fixture(params=[LocalTransport(), Beside("beside")], ids=["here", "login"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> list[Place]:
    path = tmp_path / job_files.log(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in LINES))
    return [Place(cast(Transport, request.param), (0,))]


async def found(
    folder: Path, places: list[Place], text: str, ranks: Collection[int] | None, offset: str = "0"
) -> str | None:
    """The first line that is shown after a search, or None."""
    record: Any = SimpleNamespace(directory=str(folder))
    at = await job_log.find(record, places, text, offset, job_log.written_by(ranks), back=0)
    if at is None:
        return None
    # the line in which the offset lies
    data = (folder / job_files.log(0)).read_bytes()
    begin = data.rfind(b"\n", 0, int(at.split(":")[1])) + 1
    return data[begin:].split(b"\n")[0].decode()


@pytest.mark.parametrize(
    ("text", "ranks", "line"),
    [
        ("loss", None, 0),
        ("loss", {1}, 1),
        ("loss", {11}, 2),
        ("loss 6", {0, 1}, 5),
        ("LOSS 6", {0, 1}, 5),
        ("WHAT (A+B)* ", None, 3),
        ("größe", None, 6),
        ("GRÖSSE", None, None),
        ("loss", {7}, None),
        # time, rank and stream of a line are no text of it
        ("1 o loss", None, 4),
        ("100.0", None, None),
        ("a[0]", {11}, 2),
        ("a.0", None, None),
        ("(a+b)* {2}|$x^ is", None, 3),
        ("(a+b)* {2}|$x^ is", {0}, None),
    ],
)
async def test_only_lines_of_the_ranks_that_are_shown_are_found(
    tmp_path: Path, places: list[Place], text: str, ranks: set[int] | None, line: int | None
) -> None:
    assert await found(tmp_path, places, text, ranks) == (None if line is None else LINES[line])


async def test_the_next_search_does_not_find_what_was_found_before(
    tmp_path: Path, places: list[Place]
) -> None:
    record: Any = SimpleNamespace(directory=str(tmp_path))
    reached = sum(len(line) + 1 for line in LINES[:2])
    at = await job_log.find(record, places, "loss", f"0:{reached}", job_log.written_by({0, 1}))
    lines = (await job_log.read(record, places, at or "", {0, 1})).lines
    assert [line.text for line in lines] == [
        "what (a+b)* {2}|$x^ is",
        *("1 o loss", "loss 6.5", "GRÖßE of [a]"),
    ]


async def test_lines_with_a_text_are_counted_on_both_sides_of_an_offset(
    tmp_path: Path, places: list[Place]
) -> None:
    """A view that has loaded a part of the log tells by it which of all matches it shows."""
    record: Any = SimpleNamespace(directory=str(tmp_path))

    async def counted(text: str, ranks: Collection[int] | None, offset: str) -> tuple[int, int]:
        found = await job_log.count(record, places, text, offset, job_log.written_by(ranks))
        return found.before, found.after

    reached = sum(len(line) + 1 for line in LINES[:2])
    assert await counted("LOSS", None, f"0:{reached}") == (2, 3)
    assert await counted("loss", {0, 1}, f"0:{reached}") == (2, 2)
    assert await counted("loss", None, "start") == (0, 5)
    assert await counted("loss", None, "end") == (5, 0)
    assert await counted("größe", None, "start") == (0, 1)
    # time, rank and stream of a line are no text of it
    assert await counted("100.0", None, "start") == (0, 0)
    assert await counted("(a+b)* {2}|$x^ is", None, "start") == (0, 1)
    (tmp_path / job_files.log(0)).write_bytes(b"".join(row.encode() + b"\n" for row in BARS))
    assert await counted("50%", None, "start") == (0, 2), "overwritten states are not shown"
    (tmp_path / job_files.log(0)).write_bytes(b"")
    assert await counted("loss", None, "end") == (0, 0)
    (tmp_path / job_files.log(0)).unlink()
    assert await counted("loss", None, "start") == (0, 0)


async def test_a_log_that_cant_be_read_is_not_searched(tmp_path: Path, places: list[Place]) -> None:
    path = tmp_path / job_files.log(0)
    path.unlink()
    assert await found(tmp_path, places, "loss", None) is None, "not written yet"
    path.mkdir()
    with pytest.raises(Unreachable, match="can't be read"):
        await found(tmp_path, places, "loss", None)
    record: Any = SimpleNamespace(directory=str(tmp_path))
    with pytest.raises(Unreachable, match="can't be read"):
        await job_log.count(record, places, "loss", "start", job_log.written_by(None))


def test_a_search_that_is_repeated_counts_only_what_was_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, before = tmp_path / "log", job_log.written_by(None)
    row = f"100.001 1 o a line {'x' * 40}\n"
    many = 4 * line_counts.WINDOW // len(row)
    path.write_text(row * many)
    read: list[int] = []
    whole = line_counts.LineCounts._in

    def measured(self: line_counts.LineCounts, block: bytes) -> int:
        read.append(len(block))
        return whole(self, block)

    def counted(offset: int) -> tuple[tuple[int, int], int]:
        read.clear()
        return line_counts.count(str(path), b"line", offset, before), sum(read)

    monkeypatch.setattr(line_counts.LineCounts, "_in", measured)
    most = 2 * (line_counts.WINDOW + len(row))
    assert counted(0)[0] == (0, many)
    for lines in (0, 7, many - 1, many):
        numbers, size = counted(lines * len(row))
        assert numbers == (lines, many - lines)
        assert size <= most, "the ends of both parts"
    with path.open("a") as file:
        file.write(row * 3)
    numbers, size = counted(0)
    assert numbers == (0, many + 3)
    assert size <= most
    path.write_text(row * 2)
    assert counted(len(row))[0] == (1, 1), "another run has begun it again"


async def test_a_long_log_is_counted_as_a_whole(tmp_path: Path, places: list[Place]) -> None:
    rows = [f"100.001 {n % 2} o line {n // 2} of epoch {n // 4000} {'x' * 40}\n" for n in range(8000)]
    (tmp_path / job_files.log(0)).write_text("".join(rows))
    record: Any = SimpleNamespace(directory=str(tmp_path))
    # in the middle of the searched blocks, and at a line of which the text is
    reached = sum(map(len, rows[:2222]))
    found = await job_log.count(record, places, "line 1", f"0:{reached}", job_log.written_by({1}))
    wanted = [n for n in range(1, 8000, 2) if f"line {n // 2} ".startswith("line 1")]
    assert found.before == sum(n < 2222 for n in wanted)
    assert found.after == sum(n >= 2222 for n in wanted)


BARS = (
    "100.001 0 e \repoch 1:   0%|  |\repoch 1:  50%|# |\repoch 1: 100%|##|",
    "100.002 1 e epoch 1:  50%|# |\r\r",
    "100.003 1 e gone:  50%\r          \r",
    "100.004 0 o loss at 50%\r",
    "100.005 0 o 1 e \rloss 7",
)


@pytest.mark.parametrize(
    ("text", "ranks", "line"),
    [
        ("50%", None, 1),
        ("50%", {0}, 3),
        ("100%", {0}, 0),
        ("epoch 1:   0%", None, None),
        ("gone", None, None),
        ("1 e", None, None),
        ("loss 7", {0}, 4),
    ],
)
async def test_overwritten_states_of_a_progress_bar_are_not_found(
    tmp_path: Path, places: list[Place], text: str, ranks: set[int] | None, line: int | None
) -> None:
    (tmp_path / job_files.log(0)).write_bytes(b"".join(row.encode() + b"\n" for row in BARS))
    assert await found(tmp_path, places, text, ranks) == (None if line is None else BARS[line])


async def test_a_progress_bar_of_any_length_is_its_last_state(tmp_path: Path) -> None:
    """With all states, one of an hour would be longer than a piece of the log."""
    stream = asyncio.StreamReader(limit=1 << 20)
    stream.feed_data("\r".join(f"step {n} of 19999" for n in range(20000)).encode() + b"\n")
    stream.feed_eof()
    await Output(tmp_path, 0)._copy(3, stream, "e")
    assert (tmp_path / job_files.log(0)).stat().st_size < 1000
    record: Any = SimpleNamespace(directory=str(tmp_path))
    here = [Place(cast(Transport, LocalTransport()), (0,))]
    part = await job_log.read(record, here, "start", None)
    assert [line.text for line in part.lines] == ["step 19999 of 19999"]


async def test_only_one_part_begins_with_the_first_line(tmp_path: Path) -> None:
    lines = [f"100.001 0 o line {n}\n" for n in range(8000)]
    (tmp_path / job_files.log(0)).write_text("".join(lines))
    record: Any = SimpleNamespace(directory=str(tmp_path))
    here, at, shown = [Place(cast(Transport, LocalTransport()), (0,))], "start", []
    while len(shown) < len(lines):
        part = await job_log.read(record, here, at, None)
        assert part.start == (at == "start")
        at = part.offset
        shown += [line.text for line in part.lines]
    assert not (await job_log.read(record, here, "end", None)).start


async def test_a_line_that_is_found_is_read_whole(tmp_path: Path, places: list[Place]) -> None:
    """Also where its last state is far behind its beginning."""
    bar = "\r".join(f"step {n} of 999" for n in range(1000))
    lines = ["100.001 0 o before", f"100.002 0 e {bar}", "100.003 0 o after"]
    (tmp_path / job_files.log(0)).write_text("".join(f"{line}\n" for line in lines))
    record: Any = SimpleNamespace(directory=str(tmp_path))
    at = await job_log.find(record, places, "999 of", "start", job_log.written_by(None))
    shown = (await job_log.read(record, places, at or "end", None)).lines
    assert [line.text for line in shown] == ["before", "step 999 of 999", "after"]


async def test_a_progress_bar_is_shown_in_its_last_state(tmp_path: Path) -> None:
    """As the notebook's output does; a file of an earlier version has all states."""
    rows = (
        b"100.001 0 o before",
        b"100.002 0 e \rr0:   0%|  | 0/2\rr0:  50%|# | 1/2\rr0: 100%|##| 2/2",
        b"100.003 0 e \rgone:  50%\r          \r",
        b"100.004 0 o of Windows\r",
        rb"100.005 0 o C:\results",
        b"100.006 0 o ",
    )
    (tmp_path / job_files.log(0)).write_bytes(b"".join(row + b"\n" for row in rows))
    record: Any = SimpleNamespace(directory=str(tmp_path))
    here = [Place(cast(Transport, LocalTransport()), (0,))]
    part = await job_log.read(record, here, "end", None)
    assert part.start, "the whole of a short log is at its end"
    assert [line.text for line in part.lines] == [
        "before",
        "r0: 100%|##| 2/2",
        "of Windows",
        r"C:\results",
        "",
    ]


OUTER = "\repochs: {}/2"
INNER = "\n\rbatches: {}/9\x1b[A"
"""As tqdm draws a nested bar: below the other one, and back."""


async def test_nested_bars_stay_in_place_and_are_lines_when_they_have_ended(tmp_path: Path) -> None:
    """Each refresh of the inner bar was a line of its own."""
    record: Any = SimpleNamespace(directory=str(tmp_path))
    here = [Place(cast(Transport, LocalTransport()), (0,))]
    stream = asyncio.StreamReader()
    copied = asyncio.create_task(Output(tmp_path, 0)._copy(3, stream, "e"))
    stream.feed_data(b"begin\n" + OUTER.format(0).encode())
    for batch in range(10):
        for piece in re.split("(?<=\n)", INNER.format(batch)):
            stream.feed_data(piece.encode())
            await asyncio.sleep(0)
    stream.feed_data(OUTER.format(1).encode())
    async with asyncio.timeout(30):
        while (part := await job_log.read(record, here, "start", None)).bars == () or (
            part.bars[0].rows != ("epochs: 1/2", "batches: 9/9")
        ):
            await asyncio.sleep(0.01)
    assert [line.text for line in part.lines] == ["begin"]
    assert await found(tmp_path, here, "batches", None) is None, "they are no lines yet"
    assert [line.text for line in (await job_log.read(record, here, "start", {0})).lines] == []
    stream.feed_data(OUTER.format(2).encode() + b"\n\n" + "Größe\n".encode())
    stream.feed_eof()
    await copied
    part = await job_log.read(record, here, "start", None)
    assert [line.text for line in part.lines] == ["begin", "epochs: 2/2", "batches: 9/9", "Größe"]
    assert [bars.rows for bars in part.bars] == [()]
    assert all(line.error for line in part.lines)


async def test_bars_of_a_killed_rank_are_its_last_lines(tmp_path: Path) -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(b"a\r\nb\r" + OUTER.format(1).encode())
    stream.feed_eof()
    await Output(tmp_path, 0)._copy(0, stream, "o")
    record: Any = SimpleNamespace(directory=str(tmp_path))
    part = await job_log.read(record, [Place(cast(Transport, LocalTransport()), (0,))], "start", None)
    assert [line.text for line in part.lines] == ["a", "epochs: 1/2"]
    bars = job_log.CurrentBars()
    bars.take(LogPiece(part.lines, part.offset, bars=(LogBars(2.0, 1, ("x", "y")),)))
    bars.take(LogPiece((), part.offset))
    assert [(line.rank, line.text) for line in bars.lines()] == [(1, "x"), (1, "y")]
