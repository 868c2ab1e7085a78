"""Keeps a kernel's output below its Jupyter server's rate limits: text is queued, and its middle omitted.

A server silently drops messages of a kernel that exceeds its limits (`iopub_data_rate_limit`,
`iopub_msg_rate_limit`). Pure: callers pass the time.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dtrain_lab.kernel.output.omitted import labels, left_out
from dtrain_lab.wire.processes.settings import OutputLimits

CHUNK = 1 << 16
"""Maximum characters of one stream message."""
MESSAGE_BYTES = 2000
"""Bytes of a stream message without its text: its header and its parent's header."""
BURST = 1 / 3
"""Share of the server's window that may be sent at once; beyond that, messages are sent at half the limit.

Together these are five sixths of what the server accepts in one window. So a server that reads late, and
counts the messages of a longer time in one window, still forwards all of them.
"""
STEADY = 1 / 2


class Allowance:
    """A token bucket: how much may be sent now.

    Args:
        per_s: The server's limit, in units per second; 0 for no limit.
        window_s: Seconds over which the server averages.
    """

    def __init__(self, per_s: float, window_s: float) -> None:
        self._rate = per_s * STEADY
        self._most = per_s * window_s * BURST
        self._left = self._most
        self._at = float("-inf")

    def wait(self, units: float, now: float) -> float:
        """Seconds until this much may be sent; more than the bucket holds may be sent when it is full.

        Args:
            units: Bytes or messages, as this allowance counts.
            now: Monotonic time in seconds.
        """
        if not self._rate:
            return 0.0
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, min(units, self._most) - self._left) / self._rate

    def take(self, units: float) -> None:
        """Subtract what is sent."""
        self._left -= units


@dataclass
class Message:
    """A message of the kernel to its front ends; a stream's has `text`, others have `content`."""

    kind: str
    parent: Any
    content: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    buffers: Any = None
    stream: str = ""
    text: str = ""
    left: int = 0
    """Number of lines omitted before `text`."""
    left_of: Counter[str] = field(default_factory=Counter)
    """How many of these begin with each label of ranks."""

    @property
    def size(self) -> int:
        """Bytes that a server counts; it counts those of streams only."""
        return len(msgspec.json.encode(self.text)) + MESSAGE_BYTES if self.stream else 0


class Backlog:
    """Queue of messages, in order.

    Args:
        limits: The server's limits.
        most: Maximum queued characters; beyond that, the middle is omitted.
    """

    def __init__(self, limits: OutputLimits, most: int) -> None:
        self._bytes = Allowance(limits.bytes_per_s, limits.window_s)
        self._messages = Allowance(limits.messages_per_s, limits.window_s)
        self._most = most
        self._waiting: deque[Message] = deque()
        self._held = 0
        self._ends = True
        """Whether the last stream message that was sent ended with a line break."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, message: Message) -> None:
        """Add a message; a stream's text is split into messages of limited size."""
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
                notice = left_out(message.left, message.left_of)
                message.text = ("" if self._ends else "\n") + notice + message.text
            self._ends = message.text.endswith("\n")
        return message, 0.0

    def shorten(self, most: int = 0) -> None:
        """Omit the oldest queued text, in whole lines, until at most `most` characters are left."""
        remaining: deque[Message] = deque()
        last: Message | None = None
        """The previous message if all of its text is omitted: its line count is added to the next message."""
        cut = ""
        for message in self._waiting:
            if last is not None and not (message.stream and message.parent is last.parent):
                remaining.append(last)
                last, cut = None, ""
            if not message.stream:
                remaining.append(message)
                continue
            if self._held > most:
                gone = message.text
            elif cut and not cut.endswith("\n"):  # the rest of a line whose beginning was left out
                gone = message.text[: message.text.find("\n") + 1 or len(message.text)]
            else:
                gone = ""
            self._held -= len(gone)
            message.text = message.text[len(gone) :]
            message.left += gone.count("\n")
            message.left_of += labels(gone)
            if last is not None:
                message.left += last.left
                message.left_of += last.left_of
            last, cut = (None, "") if message.text else (message, gone)
            if message.text:
                remaining.append(message)
        if last is not None:
            remaining.append(last)
        self._waiting = remaining


def chunks(text: str) -> list[str]:
    """A text in pieces of a limited size, each of whole lines where they fit."""
    pieces = []
    at = 0
    while len(text) - at > CHUNK:
        end = text.rfind("\n", at, at + CHUNK) + 1 or at + CHUNK
        pieces.append(text[at:end])
        at = end
    pieces.append(text[at:])
    return pieces
