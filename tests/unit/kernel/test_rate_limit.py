"""What a kernel sends stays below what its server passes on, and what was left out is counted."""

from __future__ import annotations

import re
from collections import Counter, deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtrain_lab.kernel.output.omitted import left_out
from dtrain_lab.kernel.output.rate_limit import CHUNK, Allowance, Backlog, Message, chunks
from dtrain_lab.wire.processes.settings import OutputLimits

LIMITS = OutputLimits()
PARENT = {"msg_id": "m"}
MOST = 1_000_000


def text(lines: str, stream: str = "stdout") -> Message:
    return Message("stream", PARENT, stream=stream, text=lines)


class Server:
    """Counts what it is sent as Jupyter Server does: all that it reads within its window."""

    def __init__(self) -> None:
        self.window: deque[tuple[float, int]] = deque()
        self.got: list[Message] = []

    def read(self, messages: list[Message], now: float) -> None:
        for message in messages:
            self.window.append((now + LIMITS.window_s, message.size))
            while self.window[0][0] <= now:
                self.window.popleft()
            assert sum(size for _, size in self.window) <= LIMITS.bytes_per_s * LIMITS.window_s
            assert len(self.window) <= LIMITS.messages_per_s * LIMITS.window_s
            self.got.append(message)

    def text(self) -> str:
        return "".join(message.text for message in self.got)


def drain(backlog: Backlog, server: Server, now: float = 0.0, *, late_s: float = 0.0) -> float:
    """Send all; the server reads what was sent in the last `late_s` seconds at once."""
    sent: list[Message] = []
    read = now
    while len(backlog):
        message, wait = backlog.next(now)
        if message is not None:
            sent.append(message)
        now += wait + 1e-9
        if now - read >= late_s:
            server.read(sent, now)
            sent, read = [], now
    server.read(sent, now)
    return now


def lines(first: int, last: int) -> str:
    return "".join(f"[0] line {i}\n" for i in range(first, last))


@pytest.mark.parametrize("late_s", [0.0, 0.7])
def test_all_is_sent_within_the_limits_in_order(late_s: float) -> None:
    backlog, server = Backlog(LIMITS, 64_000_000), Server()
    for at in range(0, 400_000, 1000):
        backlog.add(text(lines(at, at + 1000)))
    seconds = drain(backlog, server, late_s=late_s)
    assert server.text() == lines(0, 400_000)
    assert seconds < 16


def test_many_small_messages_stay_below_the_count_too() -> None:
    backlog, server = Backlog(LIMITS, MOST), Server()
    for i in range(5000):
        backlog.add(Message("comm_msg", PARENT, {"n": i}))
    drain(backlog, server)
    assert [message.content["n"] for message in server.got] == list(range(5000))


def test_the_middle_of_a_flood_is_left_out_and_counted() -> None:
    backlog, server = Backlog(LIMITS, MOST), Server()
    now = 0.0
    for at in range(0, 2_000_000, 5000):
        backlog.add(text(lines(at, at + 5000)))
        message, _ = backlog.next(now)
        server.read([message] if message else [], now)
        now += 0.01
    end = drain(backlog, server, now)
    assert end - now <= MOST / (LIMITS.bytes_per_s / 2) * 1.2, "the end does not wait for the middle"
    shown = server.text()
    left = sum(int(n) for n in re.findall(r"^… (\d+) lines are left out", shown, re.MULTILINE))
    rows = re.findall(r"^\[0\] line (\d+)$", shown, re.MULTILINE)
    assert len(rows) + left == 2_000_000
    assert rows[0] == "0"
    assert rows[-1] == "1999999"
    assert shown.count("\n") == len(rows) + shown.count("…"), "no line is cut"


def test_what_is_not_text_stays_and_keeps_its_place() -> None:
    backlog, server = Backlog(LIMITS, MOST), Server()
    backlog.add(text(lines(0, 10)))
    backlog.add(Message("display_data", PARENT, {"figure": 1}))
    backlog.add(text(lines(10, 30) + "unfinished"))
    backlog.shorten()
    drain(backlog, server)
    assert [message.kind for message in server.got] == ["stream", "display_data", "stream"]
    assert server.got[0].text == left_out(10, Counter({"0": 10}))
    assert server.got[2].text == left_out(20, Counter({"0": 20}))


def test_the_notice_says_how_many_lines_of_each_rank_are_left_out() -> None:
    backlog, server = Backlog(LIMITS, MOST), Server()
    backlog.add(text("[0] a\n[1] b\n[0-1] both\n"))
    backlog.add(text("[0,2-3] more\n[10] a\nprinted by no rank\n"))
    backlog.add(text("[3] [0] in the text\n"))
    backlog.shorten()
    drain(backlog, server)
    assert server.text() == (
        "… 7 lines are left out here: they came faster than the Jupyter server passes on "
        "(3 of rank 0, 2 each of ranks 1,3, 1 each of ranks 2,10, 1 unlabelled).\n"
    )


def test_without_limits_nothing_waits() -> None:
    assert Allowance(0, 3.0).wait(1e9, 0.0) == 0.0
    backlog = Backlog(OutputLimits(0, 0), 64_000_000)
    backlog.add(text(lines(0, 500_000)))
    while len(backlog):
        assert backlog.next(0.0)[0] is not None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="ab\n", min_size=1, max_size=12), max_size=30), st.integers(0, 80))
def test_no_line_is_lost_without_being_counted(parts: list[str], keep: int) -> None:
    whole = "".join(parts) + "\n"
    backlog, server = Backlog(LIMITS, MOST), Server()
    for part in [*parts, "\n"]:
        backlog._waiting.append(text(part))  # as they are where each answers another message
        backlog._held += len(part)
    backlog.shorten(keep)
    drain(backlog, server)
    shown = server.text()
    left = sum(int(n) for n in re.findall(r"^… (\d+) lines are left out.*\n", shown, re.MULTILINE))
    rest = re.sub(r"^….*\n", "", shown, flags=re.MULTILINE)
    assert rest.count("\n") + left == whole.count("\n")
    assert whole.endswith(rest)


@given(st.text(max_size=50).map(lambda t: t * 3000))
def test_pieces_of_a_text_are_that_text(whole: str) -> None:
    assert "".join(chunks(whole)) == whole
    assert all(len(piece) <= CHUNK for piece in chunks(whole))
