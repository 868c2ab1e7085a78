"""A rank's stream as lines for a log, in which what the rank overwrites is one line: its last state. Pure."""

from __future__ import annotations

import codecs

from dtrain_lab.cells.screen import Screen, overwrites


class LogLines:
    """Splits a stream into lines; progress bars, also nested ones, become lines when they have ended.

    Args:
        longest: Bytes after which an unfinished line, or bars, are cut.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._rest = b""
        """The beginning of a line, and a carriage return that may belong to a line feed."""
        self._screen: Screen | None = None
        self._decoder = _decoder()

    @property
    def bars(self) -> list[str]:
        """What is overwritten, one below another."""
        return [] if self._screen is None else self._screen.bars

    @property
    def is_below(self) -> bool:
        """Whether the cursor is below lines that it may return to."""
        return self._screen is not None and self._screen.is_below

    def feed(self, data: bytes) -> list[bytes]:
        """Add output; returns the lines that have ended.

        Args:
            data: The output, which may end within a line or character.
        """
        data = (self._rest + data).replace(b"\r\n", b"\n")
        self._rest = b""
        if data.endswith(b"\r"):
            data, self._rest = data[:-1], b"\r"
        if self._screen is None:
            if not overwrites(data.decode("latin-1")):
                return self._plain(data)
            self._screen = Screen()
        return self._drawn(self._screen.feed(self._decoder.decode(data)))

    def settle(self) -> list[bytes]:
        """End the lines above the cursor of a stream that is quiet: it has not returned to them."""
        if self._screen is None or not self._screen.is_below:
            return []
        return self._drawn(self._screen.settle())

    def finish(self) -> list[bytes]:
        """Return what is left at the end of the stream."""
        lines = self._ended_bars() if self._screen is not None else []
        rest, self._rest = self._rest.rstrip(b"\r"), b""
        return [*lines, rest] if rest else lines

    def _plain(self, data: bytes) -> list[bytes]:
        *lines, rest = data.split(b"\n")
        if len(rest) > self._longest:
            lines.append(rest)
            rest = b""
        self._rest = rest + self._rest
        return lines

    def _drawn(self, text: str) -> list[bytes]:
        """Lines of a screen that have ended; beyond it, the stream is an ordinary one again."""
        lines = [part for line in text.split("\n")[:-1] for part in self._parts(line)]
        screen = self._screen
        assert screen is not None
        if screen.is_plain:
            pending, _ = self._decoder.getstate()
            self._rest = _encoded(screen.rest()) + pending + self._rest
            self._screen, self._decoder = None, _decoder()
        elif sum(map(len, screen.bars)) > self._longest:
            lines += self._ended_bars()
        return lines

    def _ended_bars(self) -> list[bytes]:
        lines = [part for bar in self.bars for part in self._parts(bar)]
        self._screen, self._decoder = None, _decoder()
        return lines

    def _parts(self, line: str) -> list[bytes]:
        data, longest = _encoded(line), self._longest
        return [data[at : at + longest] for at in range(0, len(data), longest)] or [b""]


def _decoder() -> codecs.IncrementalDecoder:
    # bytes that are no text stay as they are
    return codecs.getincrementaldecoder("utf-8")("surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
