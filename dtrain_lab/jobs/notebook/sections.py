"""Splitting of a job's script into its cells, for the ranks. Doesn't import IPython, to stay light."""

from __future__ import annotations

import re

from msgspec import Struct

MARKER = re.compile(r"^# %% (cell (?P<name>\[\d+\]) (?P<id>\S+)|preamble|parameters|end)$")


class Section(Struct, frozen=True):
    """A part of a script. `name`: name of its cell, "parameters", or "" for the preamble and the end."""

    name: str
    id: str
    source: str
    first_line: int
    """Line of the script at which its source begins, from 1."""


def sections(text: str) -> tuple[Section, ...]:
    """Split a script that `convert` made."""
    lines = text.split("\n")
    starts = [(number, match) for number, line in enumerate(lines) if (match := MARKER.match(line))]
    parsed = []
    for index, (number, match) in enumerate(starts):
        end = starts[index + 1][0] if index + 1 < len(starts) else len(lines)
        # `convert` adds the empty line before the next marker
        source = "\n".join(lines[number + 1 : end]).rstrip("\n")
        name = match["name"] or ("parameters" if "parameters" in match[0] else "")
        parsed.append(Section(name, match["id"] or "", source, number + 2))
    return tuple(parsed)
