"""What an Output widget has captured on a rank, as a front end stores it in the widget's state."""

from __future__ import annotations

import json
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
        mine, theirs = _comparable(self.outputs()), _comparable(outputs)
        # a front end may store more than is kept here
        return mine == theirs or (self._is_cut and theirs.endswith(mine.split("\0", 2)[-1]))

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
            self._outputs, self._clears, self._is_cut = list(content["outputs"]), False, False
        elif kind == "clear_output":
            self._clears = True
            if not content.get("wait"):
                self._clear()
        else:
            self._clear()
            self._outputs.append(_nbformat(kind, content))

    def _stream(self, name: str, text: str) -> None:
        self._clear()
        last = self._outputs[-1] if self._outputs else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            text = _joined(last["text"]) + text
            self._outputs.pop()
        self._is_cut = self._is_cut or len(text) > MOST
        self._outputs.append({"output_type": "stream", "name": name, "text": text[-MOST:]})

    def _clear(self) -> None:
        if self._clears:
            self._outputs, self._clears, self._is_cut = [], False, False

    def _cut(self) -> None:
        sizes = [_size(output) for output in self._outputs]
        total = sum(sizes)
        first = 0
        while total > MOST and first < len(sizes) - 1:
            total -= sizes[first]
            first += 1
        if first:
            self._outputs, self._is_cut = self._outputs[first:], True


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


def _comparable(outputs: list[Output]) -> str:
    """Outputs as text that is the same for a front end's and for those of a rank."""
    found = ""
    for (kind, name), group in groupby(outputs, lambda one: (one.get("output_type"), one.get("name", ""))):
        if kind == "stream":
            found += f"\0{name}\0" + _shown("".join(_joined(one.get("text", "")) for one in group))
            continue
        for one in group:
            data = {key: _joined(value) for key, value in one.get("data", {}).items()}
            found += f"\0{kind}\0" + json.dumps([data, one.get("ename"), one.get("evalue")], sort_keys=True)
    return found


def _joined(text: Any) -> Any:
    return "".join(text) if isinstance(text, list) and all(isinstance(line, str) for line in text) else text


def _shown(text: str) -> str:
    """Text as a terminal shows it: what follows a carriage return overwrites the line."""
    if "\r" not in text:
        return text
    lines = []
    for line in text.split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        lines.append(shown)
    return "\n".join(lines)
