"""Import hooks: functions that run right after the user imports a module."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import logging
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

log = logging.getLogger(__name__)
Then = Callable[[ModuleType], None]


class _Loader(importlib.abc.Loader):
    """Runs the module's own loader, then the functions that wait for the module."""

    def __init__(self, usual: importlib.abc.Loader, then: Sequence[Then]) -> None:
        self._usual = usual
        self._then = then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._usual.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # code that asks the module's loader for sources or data files needs the original one
        module.__loader__ = self._usual
        if module.__spec__ is not None:
            module.__spec__.loader = self._usual
        self._usual.exec_module(module)
        for then in self._then:
            try:
                then(module)
            except Exception:  # a failing hook must not break the user's import
                log.exception("after the import of %s", module.__name__)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        self.waiting: dict[str, list[Then]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        then = self.waiting.pop(name, None)
        if then is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:  # not installed yet
            self.waiting[name] = then
        else:
            spec.loader = _Loader(spec.loader, then)
        return spec


_finder = _Finder()


def after_import(name: str, then: Then) -> None:
    """Call a function with a module: at once if it is imported already, else right after its import.

    Args:
        name: full name of the module.
        then: called once, with the module.
    """
    if name in sys.modules:
        then(sys.modules[name])
        return
    _finder.waiting.setdefault(name, []).append(then)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
