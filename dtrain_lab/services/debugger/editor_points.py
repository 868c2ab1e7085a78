"""Breakpoints as one editor knows them: their ids, a file's several names, and those that wait for a file."""

from __future__ import annotations

import itertools
import os

from dtrain_lab.debugger.sources import CELL
from dtrain_lab.debugger.state import Dap


class EditorPoints:
    """Keeps an editor's breakpoints and the answers to them, by the path that the editor uses.

    An editor may open a file through a link. Ranks know only one name of the file; its breakpoints are those
    of all of its names.
    """

    def __init__(self) -> None:
        self._sent: dict[str, list[Dap]] = {}
        self._numbered: dict[str, list[Dap]] = {}
        self._file: dict[str, str] = {}
        """Path that the editor uses → that by which ranks know the file."""
        self._ids = itertools.count(1)

    def file_of(self, path: str, folder: str | None) -> str:
        """Return the path by which ranks know a file.

        Args:
            path: as the editor names it.
            folder: the notebook's folder in a job, whose files the job has copied; None in a cluster.
        """
        if path not in self._file:
            self._file[path] = next(
                (shown for shown in self._file.values() if same_file(shown, path)), _inside(path, folder)
            )
        return self._file[path]

    def editor_path(self, path: str) -> str:
        """Return the editor's name for a file in which a rank has stopped: the name that has breakpoints."""
        if path in self._sent or not self._sent or path.startswith(CELL):
            return path
        return next((name for name in reversed(self._sent) if same_file(name, path)), path)

    def others(self, path: str, points: list[Dap]) -> list[Dap]:
        """Return the breakpoints that the editor has set by other names of a file.

        Args:
            path: as the editor names it.
            points: its breakpoints by this name.
        """
        lines = {point["line"] for point in points}
        names = (name for name, file in self._file.items() if file == self._file.get(path) and name != path)
        return [p for name in names for p in self._sent.get(name, ()) if p["line"] not in lines]

    def numbered(self, path: str, points: list[Dap], source: Dap, answers: list[Dap]) -> list[Dap]:
        """Number the breakpoints of an answer, and store them.

        Args:
            path: as the editor names the file.
            points: its breakpoints.
            source: the file as the editor's request names it.
            answers: the answers to them, in the same order.
        """
        self._sent.pop(path, None)
        if points:
            self._sent[path] = points
        with_ids = [{**answer, "id": next(self._ids), "source": source} for answer in answers]
        self._numbered[path] = with_ids
        return with_ids

    def loaded(self, file: str) -> list[Dap]:
        """Return the events for breakpoints that waited for a file to be imported.

        Args:
            file: the path by which ranks know it.
        """
        events = []
        for path, points in self._numbered.items():
            if self._file.get(path) != file and not same_file(path, file):
                continue
            for point in points:
                if point.get("reason") == "pending":
                    point["verified"] = True
                    del point["reason"], point["message"]
                    events.append({"reason": "changed", "breakpoint": dict(point)})
        return events


def same_file(path: str, other: str) -> bool:
    """Whether two paths of this machine are one file.

    Args:
        path: A path.
        other: The other path. A path that this machine does not have equals only itself.
    """
    try:
        return path == other or os.path.samefile(path, other)
    except OSError:  # a cell, or a file that only the ranks have
        return False


def _inside(path: str, folder: str | None) -> str:
    """Return the path of a file below the notebook's folder, if a link from outside leads to it."""
    if folder is None or path.startswith(f"{folder}/") or not os.path.exists(path):
        return path
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return folder + real.removeprefix(root) if real.startswith(f"{root}/") else path
