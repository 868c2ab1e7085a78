"""Watches which files of breakpoints this process has imported, and reports those that it imports later."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable

CHECK_EVERY_S = 0.25


class AwaitedImports:
    """Watches for the import of files, with a single timer, which runs only while files are awaited.

    Args:
        loop: asyncio loop in which the files are looked for.
        imported: called with the name of a file that has been imported.
        failed: called with an error of a check; checks continue.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        imported: Callable[[str], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._loop = loop
        self._imported = imported
        self._failed = failed
        self._files: dict[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._module_count = 0
        """Number of modules at the last check."""

    def await_file(self, name: str, path: str) -> None:
        """Report when a file has been imported.

        Args:
            name: the name to report.
            path: path of the file on this host.
        """
        self._files[name] = path
        self._module_count = 0
        self._check_later()

    def forget(self, name: str) -> None:
        """Stop waiting for this file."""
        self._files.pop(name, None)
        if not self._files:
            self.clear()

    def clear(self) -> None:
        """Stop waiting for all files."""
        self._files.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_later(self) -> None:
        if self._timer is None and self._files:
            self._timer = self._loop.call_later(CHECK_EVERY_S, self._check)

    def _check(self) -> None:
        self._timer = None
        try:
            if len(sys.modules) != self._module_count:
                self._module_count = len(sys.modules)
                for name in [name for name, path in self._files.items() if loaded(path)]:
                    del self._files[name]
                    self._imported(name)
        # modules are the user's, and reading their attributes may raise anything
        except Exception as error:  # noqa: BLE001
            self._failed(error)
        finally:
            self._check_later()


def loaded(path: str) -> bool:
    """Whether this process has imported a file, by this name or another one of the same file."""
    real = os.path.realpath(path)
    names = (os.path.basename(path), os.path.basename(real))
    for module in list(sys.modules.values()):
        file = getattr(module, "__dict__", {}).get("__file__")  # a lazy module's `__getattr__` may load it
        if not isinstance(file, str):
            continue
        if file == path or (os.path.basename(file) in names and os.path.realpath(file) == real):
            return True
    return False
