"""Writes `executed.ipynb`: the notebook of a job with rank 0's output, updated while the job runs."""

from __future__ import annotations

import ast
import base64
import contextlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, TextIO

from dtrain_lab.machine import atomic_files

EVERY_S = 2.0
MOST_TEXT = 1 << 20
"""Characters of stdout and stderr kept per cell; the log has the rest."""

RUN_KEY = "dtrain"
"""Metadata of a cell's last run on a cluster (`src/output/runs/run.ts`), which the job's notebook drops."""

HEADING = "# Parameters of this job, set when it was submitted"
"""First line of the cell that the submission has inserted: the notebook itself has no such cell."""


class ExecutedNotebook:
    """The executed notebook; a thread writes it every 2 s while it changes.

    Args:
        source: path of the notebook that was submitted.
        target: path to write.
    """

    def __init__(self, source: Path, target: Path) -> None:
        self._target = target
        self._book: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
        self._cells: dict[str, dict[str, Any]] = {}
        self._cell: dict[str, Any] | None = None
        self._left = MOST_TEXT
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._changed = threading.Event()
        count = 0
        for cell in self._book.get("cells", []):
            if cell.get("cell_type") != "code":
                continue
            count += 1
            cell["outputs"], cell["execution_count"] = [], None
            cell.get("metadata", {}).pop(RUN_KEY, None)
            self._cells[f"[{count}]"] = cell
        threading.Thread(target=self._write_changes, name="dtrain-executed", daemon=True).start()

    def begin(self, name: str, source: str) -> None:
        """Start a cell; "parameters" is the cell that the submission has inserted.

        Args:
            name: label of the cell, as `[3]`, or "parameters".
            source: text of the cell.
        """
        with self._lock:
            if name == "parameters":
                self._put_in(source)
            elif name in self._cells:
                self._cell = self._cells[name]
                if not _left_out(self._cell, source):
                    self._cell["execution_count"] = int(name.strip("[]"))
            self._left = MOST_TEXT
        self._changed.set()

    def stream(self, name: str, text: str) -> None:
        """Add text of stdout or stderr to the running cell.

        Args:
            name: "stdout" or "stderr".
            text: The text; what exceeds the cell's limit is left out.
        """
        with self._lock:
            if self._cell is None or self._left <= 0:
                return
            if len(text) > self._left:
                text = text[: self._left] + "\n… (the rest is in the job's log)\n"
            self._left -= len(text)
            outputs = self._cell["outputs"]
            if outputs and outputs[-1].get("name") == name:
                outputs[-1]["text"] += text
            else:
                outputs.append({"output_type": "stream", "name": name, "text": text})
        self._changed.set()

    def show(self, data: dict[str, Any], metadata: dict[str, Any], result: int | None = None) -> None:
        """Add a displayed value to the running cell.

        Args:
            data: the value by MIME type.
            metadata: metadata by MIME type.
            result: the cell's number where this is its last value; None for `display`.
        """
        output: dict[str, Any] = {
            "output_type": "display_data" if result is None else "execute_result",
            "data": {k: _plain(v) for k, v in data.items()},
            "metadata": metadata,
        }
        if result is not None:
            output["execution_count"] = result
        self._append(output)

    def fail(self, kind: str, message: str, traceback: list[str]) -> None:
        """Add the error that ended the running cell.

        Args:
            kind: type of the exception.
            message: its message.
            traceback: lines of its traceback.
        """
        self._append({"output_type": "error", "ename": kind, "evalue": message, "traceback": traceback})

    def write(self) -> None:
        """Write the notebook now. Readers see the old file or the new one, never half of it.

        A full disk must not end the training, so an error only goes to the log.
        """
        with self._writing:
            with self._lock:
                text = json.dumps(self._book, indent=1)
            try:
                atomic_files.swap(self._target, text.encode())
            except OSError as error:
                with contextlib.suppress(OSError):
                    print(f"dtrain-lab: executed.ipynb: {error.strerror}", file=sys.__stderr__)

    def _append(self, output: dict[str, Any]) -> None:
        with self._lock:
            if self._cell is not None:
                self._cell["outputs"].append(output)
        self._changed.set()

    def _put_in(self, source: str) -> None:
        cell: dict[str, Any] = {
            "cell_type": "code",
            "id": "injected-parameters",
            "metadata": {"tags": ["injected-parameters"]},  # as papermill tags it
            "source": f"{HEADING}\n{source}",
            "outputs": [],
            "execution_count": None,
        }
        cells = self._book["cells"]
        at = cells.index(self._cell) + 1 if self._cell in cells else 0
        cells.insert(at, cell)

    def _write_changes(self) -> None:
        while True:
            self._changed.wait()
            self._changed.clear()
            self.write()
            threading.Event().wait(EVERY_S)


class Tee:
    """A stream that is also copied into the executed notebook.

    Args:
        stream: the original stream.
        name: "stdout" or "stderr".
        executed: the notebook.
    """

    def __init__(self, stream: TextIO, name: str, executed: ExecutedNotebook) -> None:
        self._stream = stream
        self._name = name
        self._executed = executed
        self._owner = os.getpid()  # set here and not at import, because warm ranks are forked later

    def write(self, text: str) -> int:
        """Write to the stream and, in the rank's own process, to the notebook; returns characters written."""
        count = self._stream.write(text)
        if os.getpid() == self._owner and text:
            self._executed.stream(self._name, text)
        return count

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _left_out(cell: dict[str, Any], source: str) -> bool:
    """Whether the job's script lacks a cell's code, as it does for `%load_ext`.

    Args:
        cell: the notebook's cell.
        source: its text in the script.
    """
    text = "".join(cell["source"])  # a string or a list of lines
    try:
        body = ast.parse(source).body
    except SyntaxError:  # reported when the cell runs
        return False
    return bool(body) and all(isinstance(each, ast.Pass) for each in body) and source.strip() != text.strip()


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    with contextlib.suppress(TypeError, ValueError):
        json.dumps(value)
        return value
    return str(value)
