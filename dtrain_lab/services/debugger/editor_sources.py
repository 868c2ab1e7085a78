"""Sources that are not files of this machine: an editor requests their text by a reference."""

from __future__ import annotations

import os

from dtrain_lab.debugger.editor import dialect
from dtrain_lab.debugger.sources import CELL
from dtrain_lab.debugger.state import Dap, State
from dtrain_lab.errors import BadRequest


class EditorSources:
    """Numbers cells, and files that only the ranks have: their references are 1, 2, …"""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}
        """Path → name."""

    def listing(self, state: State) -> list[Dap]:
        """Return a job's cells, and all sources that were displayed."""
        return [self.source(state, {"path": path}) for path in {**dialect.sources(state), **self._shown}]

    def path(self, source: Dap) -> str:
        """Return the path of a source in a request.

        Raises:
            BadRequest: it has neither a path nor a reference that was given.
        """
        reference = source.get("sourceReference") or 0
        if 0 < reference <= len(self._shown):
            return list(self._shown)[reference - 1]
        if reference:
            raise BadRequest(f"There is no source {reference}.", "")
        if not source.get("path"):
            raise BadRequest("This source has no path.", "")
        return str(source["path"])

    def source(self, state: State, source: Dap) -> Dap:
        """Return the description of a source for the editor.

        Args:
            state: The debugger's state, with the cells' paths.
            source: The source in DAP's form, as the ranks have it.

        Returns:
            The source with its `sourceReference`: 0 if this machine has the file; otherwise a number by which
            the editor requests the text.
        """
        path = str(source.get("path") or "")
        if not path or is_here(path):
            return {**source, "sourceReference": 0}
        named = str(source.get("name") or dialect.sources(state).get(path) or path.removeprefix(CELL))
        name = self._shown.setdefault(path, named)
        reference = list(self._shown).index(path) + 1
        return {**source, "name": name, "sourceReference": reference, "origin": "on the ranks"}


def is_here(path: str) -> bool:
    """Whether a source is a file of this machine."""
    return not path.startswith(CELL) and os.path.exists(path)
