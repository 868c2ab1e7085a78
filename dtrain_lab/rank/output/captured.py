"""What an Output widget has captured on a rank, as a front end stores it in the widget's state."""

from __future__ import annotations

import threading
from collections import deque
from itertools import groupby
from typing import Any

from ipykernel.jsonutil import json_clean

MOST = 1 << 20
"""Maximum number of kept characters; the beginning is left out."""
MOST_WAITING = 4096
Output = dict[str, Any]


class Captured:
    """The outputs of one widget, kept beside those that a front end has stored.

    Any thread and signal handlers add to it, and never wait.
    """

    def __init__(self) -> None:
        self._added: deque[tuple[str, dict[str, Any]]] = deque()
        self._outputs: list[Output] = []
        self._sizes: list[int] = []
        """Of each of these outputs, in characters."""
        self._clears = False
        """Whether the next output replaces those that are there."""
        self._is_cut = False
        self._reading = threading.Lock()

    def add(self, kind: str, content: dict[str, Any]) -> None:
        """Add what the widget captures.

        Args:
            kind: `stream`, a display, `error` or `clear_output`; `outputs` if the user's code has set them.
            content: Content of the message.
        """
        self._added.append((kind, content))
        if len(self._added) > MOST_WAITING and self._reading.acquire(blocking=False):
            try:
                self._fold()
            finally:
                self._reading.release()

    def outputs(self) -> list[Output]:
        """Return all outputs, in nbformat."""
        with self._reading:
            self._fold()
            return list(self._outputs)

    def covered_by(self, outputs: list[Output]) -> bool:
        """Return whether outputs are all that the widget has captured.

        Args:
            outputs: What a front end has stored.
        """
        mine, theirs = self.outputs(), _merged(outputs)
        if len(mine) != len(theirs) and not (self._is_cut and 0 < len(mine) < len(theirs)):
            return False
        # the end first: it differs as long as the front end stores less
        for own, stored in zip(reversed(mine), reversed(theirs), strict=False):
            if not _same(own, stored, is_cut=self._is_cut and own is mine[0]):
                return False
        return True

    def _fold(self) -> None:
        added = [self._added.popleft() for _ in range(len(self._added))]
        for (kind, name), group in groupby(added, lambda one: (one[0], one[1].get("name"))):
            contents = [content for _, content in group]
            if kind == "stream":
                self._stream(str(name), "".join(content["text"] for content in contents))
                continue
            for content in contents:
                self._one(kind, content)
        self._cut()

    def _one(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "outputs":
            self._remove_all()
            for output in _merged(json_clean(list(content["outputs"]))):
                self._append(output)
        elif kind == "clear_output":
            self._clears = True
            if not content.get("wait"):
                self._clear()
        else:
            self._clear()
            self._append(_nbformat(kind, content))

    def _stream(self, name: str, text: str) -> None:
        self._clear()
        last = self._outputs[-1] if self._outputs else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            before = last["text"]
            begin = before.rfind("\n") + 1
            text = before[:begin] + _collapsed(before[begin:] + text)
            self._outputs.pop()
            self._sizes.pop()
        else:
            text = _collapsed(text)
        self._is_cut = self._is_cut or len(text) > MOST
        self._append({"output_type": "stream", "name": name, "text": text[-MOST:]})

    def _append(self, output: Output) -> None:
        self._outputs.append(output)
        self._sizes.append(_size(output))

    def _clear(self) -> None:
        if self._clears:
            self._remove_all()

    def _remove_all(self) -> None:
        self._outputs, self._sizes, self._clears, self._is_cut = [], [], False, False

    def _cut(self) -> None:
        total = sum(self._sizes)
        first = 0
        while total > MOST and first < len(self._sizes) - 1:
            total -= self._sizes[first]
            first += 1
        if first:
            self._outputs, self._sizes = self._outputs[first:], self._sizes[first:]
            self._is_cut = True


def _nbformat(kind: str, content: dict[str, Any]) -> Output:
    if kind == "error":
        output: Output = {"output_type": "error", **{k: content[k] for k in ("ename", "evalue", "traceback")}}
    else:
        output = {
            "output_type": "display_data",
            "data": content["data"],
            "metadata": content.get("metadata", {}),
        }
    return dict(json_clean(output))


def _size(output: Output) -> int:
    if output.get("output_type") == "stream":
        return len(output["text"])
    return sum(len(str(value)) for value in output.get("data", {}).values())


def _merged(outputs: list[Output]) -> list[Output]:
    """Return outputs with the texts of a stream that follow each other as one."""
    merged: list[Output] = []
    for (kind, name), group in groupby(outputs, lambda one: (one.get("output_type"), one.get("name", ""))):
        if kind == "stream":
            text = "".join(_joined(one.get("text", "")) for one in group)
            merged.append({"output_type": kind, "name": name, "text": _collapsed(text)})
        else:
            merged.extend(group)
    return merged


def _same(own: Output, stored: Output, *, is_cut: bool) -> bool:
    """Return whether a front end has stored an output of a rank.

    Args:
        own: Output of the rank.
        stored: What a front end has stored.
        is_cut: Whether the beginning of the rank's output was left out, which a front end may have.
    """
    if own.get("output_type") != stored.get("output_type"):
        return False
    if own.get("output_type") == "stream":
        text, whole = _shown(own["text"]), _shown(stored["text"])
        return own["name"] == stored["name"] and (whole.endswith(text) if is_cut else whole == text)
    if (own.get("ename"), own.get("evalue")) != (stored.get("ename"), stored.get("evalue")):
        return False
    data, theirs = own.get("data", {}), stored.get("data", {})
    return data == theirs or _whole(data) == _whole(theirs)


def _whole(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a display in which no text is a list of lines, as notebooks store it."""
    return {key: _joined(value) for key, value in data.items()}


def _joined(text: Any) -> Any:
    return "".join(text) if isinstance(text, list) and all(isinstance(line, str) for line in text) else text


def _collapsed(text: str) -> str:
    """Text without what its carriage returns overwrite; more text may follow, also in its last line."""
    if "\r" not in text:
        return text
    *lines, last = text.split("\n")
    shown = _overwritten(last)
    cursor = len(last) - last.rfind("\r") - 1
    if cursor < len(shown):
        shown += f"\r{shown[:cursor]}"
    return "\n".join([*map(_overwritten, lines), shown])


def _shown(text: str) -> str:
    """Collapsed text as a terminal shows it."""
    begin = text.rfind("\n") + 1
    return text[:begin] + _overwritten(text[begin:]) if "\r" in text[begin:] else text


def _overwritten(line: str) -> str:
    """A line as a terminal shows it: what follows a carriage return overwrites it."""
    if "\r" not in line:
        return line
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part) :]
    return shown
