"""ANSI colours per line, so that a rank's colours don't leak into the lines of other ranks."""

from __future__ import annotations

import re

_CODE = re.compile(r"\x1b\[([\d;]*)m")
RESET = "\x1b[0m"
_ENDS = {22: (1, 2), 23: (3,), 24: (4,), 25: (5,), 27: (7,), 28: (8,), 29: (9,)}


class Colours:
    """The ANSI styles in force at the end of a stream's last line."""

    def __init__(self) -> None:
        self._now: dict[str, str] = {}

    def line(self, text: str) -> str:
        """Make a line self-contained: prefix the styles in force, and reset them at its end.

        Args:
            text: one line of the stream, without its newline.

        Returns:
            The line, which can be shown among lines of other streams.
        """
        before = self._codes()
        for match in _CODE.finditer(text):
            self._take([int(part) if part else 0 for part in match[1].split(";")])
        return before + text + (RESET if self._now else "")

    def _codes(self) -> str:
        return f"\x1b[{';'.join(self._now.values())}m" if self._now else ""

    def _take(self, numbers: list[int]) -> None:
        while numbers:
            first = numbers.pop(0)
            if first == 0:
                self._now.clear()
            elif first in (38, 48):
                count = 2 if numbers[:1] == [5] else 4
                rest, numbers[:] = numbers[:count], numbers[count:]
                self._now[str(first)] = ";".join(map(str, [first, *rest]))
            elif first in (39, 49):
                self._now.pop(str(first - 1), None)
            elif 30 <= first < 38 or 90 <= first < 98:
                self._now["38"] = str(first)
            elif 40 <= first < 48 or 100 <= first < 108:
                self._now["48"] = str(first)
            elif first in _ENDS:
                for number in _ENDS[first]:
                    self._now.pop(f"style {number}", None)
            elif first < 10:
                self._now[f"style {first}"] = str(first)
