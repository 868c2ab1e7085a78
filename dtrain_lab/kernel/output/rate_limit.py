"""What a Jupyter server passes on to a front end: text that comes faster waits, or loses its middle.

A server drops messages of a kernel that sends more than its limits (`iopub_data_rate_limit`,
`iopub_msg_rate_limit`), without a word to the kernel. Pure: callers pass the time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dtrain_lab.wire.processes.settings import OutputLimits

CHUNK = 1 << 16
"""Characters of one stream message, at most."""
MESSAGE_BYTES = 2000
"""Bytes that a stream message has beside its text: its header and that of the message it answers."""
BURST = 1 / 3
"""Share of the server's window that may be sent at once; what is sent beyond goes at half of the limit.

Both together are five sixths of what the server takes in one window, so that a server which reads late, and
counts a longer time's messages in one window, still passes all of them on.
"""
STEADY = 1 / 2


def left_out(lines: int) -> str:
    """How it is said that lines are left out; the page reads it, too (`src/output/lines/trim.ts`)."""
    return f"… {lines} lines are left out here: they came faster than the Jupyter server passes on.\n"


class Allowance:
    """What may be sent now: a token bucket.

    Args:
        per_s: The server's limit, in units per second; 0 for no limit.
        window_s: Seconds over which the server takes its mean.
    """

    def __init__(self, per_s: float, window_s: float) -> None:
        self._rate = per_s * STEADY
        self._most = per_s * window_s * BURST
        self._left = self._most
        self._at = float("-inf")

    def wait(self, units: float, now: float) -> float:
        """Seconds until so much may be sent; more than fits at all may be sent once everything is allowed."""
        if not self._rate:
            return 0.0
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, min(units, self._most) - self._left) / self._rate

    def take(self, units: float) -> None:
        """Count what is sent."""
        self._left -= units


@dataclass
class Message:
    """A message of the kernel to its front ends: `text` where it is a stream's, else `content`."""

    kind: str
    parent: Any
    content: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    buffers: Any = None
    stream: str = ""
    text: str = ""
    left: int = 0
    """Lines that are left out before `text`."""

    @property
    def size(self) -> int:
        """Bytes that a server counts: those of streams only."""
        return len(msgspec.json.encode(self.text)) + MESSAGE_BYTES if self.stream else 0


class Backlog:
    """Messages that wait for their turn, in order.

    Args:
        limits: The server's limits.
        most: Characters of text that may wait; of more, the middle is left out.
    """

    def __init__(self, limits: OutputLimits, most: int) -> None:
        self._bytes = Allowance(limits.bytes_per_s, limits.window_s)
        self._messages = Allowance(limits.messages_per_s, limits.window_s)
        self._most = most
        self._waiting: deque[Message] = deque()
        self._held = 0
        self._ends = True
        """Whether the last stream message that was sent ended with its line."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, message: Message) -> None:
        """Add a message; a stream's text goes into messages of a limited size."""
        if not message.stream:
            self._waiting.append(message)
            return
        for text in chunks(message.text):
            last = self._waiting[-1] if self._waiting else None
            alike = last and last.stream == message.stream and last.parent is message.parent
            if last is not None and alike and len(last.text) + len(text) <= CHUNK:
                last.text += text
            else:
                self._waiting.append(Message(message.kind, message.parent, stream=message.stream, text=text))
            self._held += len(text)
        if self._held > self._most:
            self.shorten(self._most // 2)

    def next(self, now: float) -> tuple[Message | None, float]:
        """The message to send now, or None and the seconds to wait for it."""
        if not self._waiting:
            return None, 0.0
        message = self._waiting[0]
        size = message.size
        wait = max(self._bytes.wait(size, now), self._messages.wait(1, now))
        if wait > 0:
            return None, wait
        self._bytes.take(size)
        self._messages.take(1)
        self._waiting.popleft()
        if message.stream:
            self._held -= len(message.text)
            if message.left:
                message.text = ("" if self._ends else "\n") + left_out(message.left) + message.text
            self._ends = message.text.endswith("\n")
        return message, 0.0

    def shorten(self, keep: int = 0) -> None:
        """Leave out the first of the text that waits, in whole lines, until no more than `keep` is left."""
        kept: deque[Message] = deque()
        last: Message | None = None
        """The message before, where all its text is gone: its count of lines goes to the next one."""
        cut = ""
        for message in self._waiting:
            if last is not None and not (message.stream and message.parent is last.parent):
                kept.append(last)
                last, cut = None, ""
            if not message.stream:
                kept.append(message)
                continue
            if self._held > keep:
                gone = message.text
            elif cut and not cut.endswith("\n"):  # the rest of a line of which the beginning is gone
                gone = message.text[: message.text.find("\n") + 1 or len(message.text)]
            else:
                gone = ""
            self._held -= len(gone)
            message.text = message.text[len(gone) :]
            message.left += gone.count("\n") + (last.left if last is not None else 0)
            last, cut = (None, "") if message.text else (message, gone)
            if message.text:
                kept.append(message)
        if last is not None:
            kept.append(last)
        self._waiting = kept


def chunks(text: str) -> list[str]:
    """A text in pieces of a limited size, each of whole lines where they fit."""
    found = []
    at = 0
    while len(text) - at > CHUNK:
        end = text.rfind("\n", at, at + CHUNK) + 1 or at + CHUNK
        found.append(text[at:end])
        at = end
    found.append(text[at:])
    return found
