"""Last words, and the journal."""

from __future__ import annotations

import contextlib
import mmap
import os
import subprocess
from pathlib import Path

import pytest

from dtrain_lab.cells import output_buffer
from dtrain_lab.head.cells import journal
from dtrain_lab.head.cells.output_offsets import CONFIRM_EVERY, OutputOffsets
from dtrain_lab.wire.links import CellOutput, OutputTail


def region() -> output_buffer.Region:
    return output_buffer.Region(memoryview(bytearray(output_buffer.BYTES)), "stderr")


def test_the_tail_is_what_was_not_seen_also_around_the_end_of_the_memory() -> None:
    kept = region()
    kept.write(b"a" * (output_buffer.SIZE - 3))
    kept.confirm(output_buffer.SIZE - 3)
    kept.write(b"0123456789")
    assert kept.tail() == b"0123456789"
    kept.confirm(output_buffer.SIZE)
    assert kept.tail() == b"3456789"
    assert kept.space == output_buffer.SIZE - 7


def test_looking_for_a_tail_allocates_no_memory_but_the_tails() -> None:
    """A node agent looks once a second: with all of the memory, 512 KiB a rank were allocated for nothing."""
    file = os.memfd_create("words")
    os.ftruncate(file, output_buffer.BYTES)
    kept = output_buffer.Region(memoryview(mmap.mmap(file, output_buffer.BYTES)), "stdout")
    kept.write(b"0123456789")
    before = os.fstat(file).st_blocks
    assert kept.tail() == b"0123456789"
    kept.confirm(10)
    assert kept.tail() == b""
    assert os.fstat(file).st_blocks == before
    os.close(file)


def test_what_was_on_its_way_from_the_pipe_counts_once() -> None:
    kept = region()
    kept.take(3)[:] = b"raw"
    assert kept.taking() == b"raw"
    kept.write(b"python")
    assert kept.taking() == b"raw"
    kept.write(b"raw", taken=True)
    assert kept.taking() == b""
    assert kept.tail() == b"pythonraw"


def test_streams_do_not_share_memory() -> None:
    memory = memoryview(bytearray(output_buffer.BYTES))
    out, err, names = (
        output_buffer.Region(memory, "stdout"),
        output_buffer.Region(memory, "stderr"),
        output_buffer.Names(memory),
    )
    out.write(b"o" * output_buffer.SIZE)
    err.write(b"e" * output_buffer.SIZE)
    names.add("/tmp/1.py", "[3]", 1)
    assert (set(out.tail()), set(err.tail())) == ({ord("o")}, {ord("e")})
    assert names.read() == {"/tmp/1.py": ("[3]", 1)}


def test_the_head_confirms_now_and_then_and_completes_what_is_missing() -> None:
    have = OutputOffsets()
    assert have.received(CellOutput("c", 1, "stdout", text="abc", through=3)) is None
    found = have.received(CellOutput("c", 1, "stdout", text="x", through=CONFIRM_EVERY))
    assert found is not None
    assert found.through == CONFIRM_EVERY
    left = (OutputTail("stdout", CONFIRM_EVERY + 2, b"seen!!", b"raw"),)
    assert list(have.missing(1, left, "crash")) == [("stdout", "!!raw"), ("stderr", "crash\n")]
    have.forget(1)
    assert list(have.missing(1, (OutputTail("stdout", 2, b"hi"),), "")) == [("stdout", "hi")]


def test_an_empty_journal_has_nothing(tmp_path: Path) -> None:
    kept = journal.Journal(tmp_path)
    assert kept.read(-1, 10) == []
    assert kept.raw(-1, "a", 10) == ([], -1)


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own size needs root")
def test_the_journal_on_a_full_disk_keeps_the_latest_and_then_passes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 64 << 10)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(tmp_path)], check=True)
    try:
        kept = journal.Journal(tmp_path)
        for number in range(300):
            kept.add("[1]", CellOutput("a", 0, "stdout", f"{number} " + "x" * 4000))
        found = kept.read(-1, 1000)
        assert [o.seq for o in found] == list(range(found[0].seq, found[-1].seq + 1)), "without a gap"
        assert found[-1].seq == 299, "the latest are kept, the oldest make room"
        for number in range(300, 400):  # somebody else takes all that it frees
            fill(tmp_path / f"others.{number}")
            kept.add("[1]", CellOutput("a", 0, "stdout", f"{number} " + "x" * 4000))
        assert kept.next == 400
        assert not any(o.seq > 390 for o in kept.read(-1, 1000)), "nobody has room"
        for other in tmp_path.glob("others.*"):
            other.unlink()
        kept.add("[2]", CellOutput("b", 0, "stdout", "room again"))
        assert kept.read(-1, 1000)[-1].text == "room again"
        kept.close()
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill(file: Path) -> None:
    """Take all that is left of a disk."""
    with file.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(bytes(4096))


def test_the_journal_numbers_drops_the_oldest_segment_and_finds_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1000)
    kept = journal.Journal(tmp_path, most_bytes=4000)
    for number in range(200):
        kept.add(f"[{number % 2}]", CellOutput(f"id{number % 2}", 0, "stdout", text=f"{number}\n" + "x" * 50))
    found = kept.read(-1, 1000)
    assert found[-1].seq == 199
    assert 0 < found[0].seq < 199
    assert [o.seq for o in found] == list(range(found[0].seq, 200))
    assert len(list(tmp_path.iterdir())) <= 6
    assert kept.read(197, 1000)[0].seq == 198
    assert {o.cell for o in kept.read(-1, 1000, "[1]")} == {"[1]"}
    assert kept.read(-1, 1000, "id1") == kept.read(-1, 1000, "[1]")
    outputs, last = kept.raw(found[0].seq - 1, "id0", 1 << 20)
    assert {entry.output.cell for entry in outputs} == {"id0"}
    assert last == 199
    kept.close()
