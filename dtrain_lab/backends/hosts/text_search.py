"""Searches a file on this machine for a text, as `Transport` describes it."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable

from dtrain_lab.cells.merge import last_state

SPECIAL = re.compile(rb"[\[\\.()*+?^$|{]")
"""Characters that mean something in an extended regular expression."""
WINDOW = 1 << 16
"""Bytes searched at once: meanwhile, the server's other threads wait for the interpreter's lock."""


def in_any_case(text: bytes) -> bytes:
    """Return a regular expression, of Python and of POSIX (extended), that matches a text in any case.

    Args:
        text: The text, in UTF-8.
    """
    return b"".join(_cases(character) for character in text.decode())


def _cases(character: str) -> bytes:
    cases = {character, *(case for case in (character.lower(), character.upper()) if len(case) == 1)}
    escaped = sorted(SPECIAL.sub(rb"\\\g<0>", case.encode()) for case in cases)
    if len(escaped) == 1:
        return escaped[0]
    # a choice of bytes is searched for faster
    return b"[" + b"".join(escaped) + b"]" if character.isascii() else b"(" + b"|".join(escaped) + b")"


def _finder(text: bytes, *, exact: bool) -> Callable[[bytes], int]:
    """Return a function that finds a text in bytes: where it begins, or -1."""
    if exact:
        return lambda data: data.find(text)
    if text.isascii():  # far faster than an expression
        lower = text.lower()
        return lambda data: data.lower().find(lower)
    wanted = re.compile(in_any_case(text))
    return lambda data: -1 if (match := wanted.search(data)) is None else match.start()


def _next(find: Callable[[bytes], int], whole: mmap.mmap, offset: int, longest: int) -> int:
    """Return where the next match begins, which has this many bytes at most; -1 if there is none."""
    while offset < len(whole):
        at = find(whole[offset : offset + WINDOW + longest])
        if at >= 0:
            return offset + at
        offset += WINDOW
    return -1


def find(path: str, text: bytes, offset: int, before: bytes) -> int | None:
    """Find the first line with a text, as `Transport.find`.

    Args:
        path: The file.
        text: The text.
        offset: Where a line begins.
        before: Regular expression of a line's start, before what it shows; empty for any start.

    Returns:
        Where that line begins; None if there is no such line, or no file.

    Raises:
        OSError: The file can't be read.
    """
    start, found = re.compile(before), _finder(text, exact=not before)
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as whole:
            # searching for the text is far faster than searching for the expression
            while (at := _next(found, whole, offset, 4 * len(text))) >= 0:
                begin, end = whole.rfind(b"\n", 0, at) + 1, whole.find(b"\n", at)
                line = whole[begin : end if end >= 0 else len(whole)]
                if not before:
                    return begin
                head = start.match(line) if begin >= offset else None
                if head is not None and found(last_state(line[head.end() :])) >= 0:
                    return begin
                # once a line: a progress bar may have the text in each of its states
                offset = begin + len(line)
    except (FileNotFoundError, ValueError):  # an empty file can't be mapped
        pass
    return None
