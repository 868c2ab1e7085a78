"""The parts of a script: a rank of a job finds its cells by them. Light: no import of IPython."""

from __future__ import annotations

import re

from msgspec import Struct

MARKER = re.compile(r"^# %% (cell (?P<name>\[\d+\]) (?P<id>\S+)|preamble|parameters|end)$")


class Section(Struct, frozen=True):
    """A part of a script. `name`: of its cell, or "" for the preamble and "parameters"."""

    name: str
    id: str
    source: str
    first_line: int
    """Line of the script where its source begins."""


def sections(text: str) -> tuple[Section, ...]:
    """The parts of a script that `convert` made."""
    lines = text.split("\n")
    starts = [(number, match) for number, line in enumerate(lines) if (match := MARKER.match(line))]
    found = []
    for index, (number, match) in enumerate(starts):
        end = starts[index + 1][0] if index + 1 < len(starts) else len(lines)
        # the empty line before the next marker is ours
        source = "\n".join(lines[number + 1 : end]).rstrip("\n")
        name = match["name"] or ("parameters" if "parameters" in match[0] else "")
        found.append(Section(name, match["id"] or "", source, number + 2))
    return tuple(found)
