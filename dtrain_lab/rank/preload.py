"""What the fork server loads for its ranks, and how ranks know which modules were loaded.

A page that a rank writes to is copied, and even reading an object changes its reference count. So ranks
import nothing that could be loaded before the fork, and don't look through all modules.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

NEEDED = (
    "numpy",
    "torch",
    "torch.distributed",
    "torch.nn.parallel",
    "torch.distributed.fsdp",
    "torch.utils.data",
    "ipyparallel.engine.app",
    "ipyparallel.controller.app",
    "ipyparallel.controller.task_scheduler",
    "ipyparallel.controller.dictdb",
    "ipyparallel.serialize.codeutil",
    "ipykernel.debugger",
    "ipykernel.zmqshell",
    "tornado.platform.asyncio",
    "faulthandler",
    "dtrain_lab.rank.main",
)
OPTIONAL = (
    "matplotlib_inline.backend_inline",
    # a kernel's shell imports these as it starts, or in its first cell; other releases may lack some
    "IPython.core.completerlib",
    "IPython.core.logger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "IPython.utils.wildcard",
    "bdb",
)
NEEDED_BY_SCRIPTS = (
    "torch",
    "torch.distributed",
    "torch.nn.parallel",
    "torch.utils.data",
    "dtrain_lab.rank.job.runner",
    "dtrain_lab.rank.monitor.monitor",
    "dtrain_lab.rank.notes",
    "dtrain_lab.rank.launchers",
    "dtrain_lab.rank.rpc",
    "dtrain_lab.rank.frameworks.torch_libraries",
    "dtrain_lab.training.log",
)
OPTIONAL_FOR_SCRIPTS = ("numpy",)
"""torch works without it."""

names: set[str] = set()
"""Names of the modules that were loaded before the fork."""
files: list[str] = []
"""Their files."""


def load() -> None:
    """Load what ranks need, and note all that is loaded then.

    Raises:
        ImportError: A module that ranks can't do without is missing.
    """
    _import(NEEDED, OPTIONAL)
    names.update(sys.modules)
    files.extend(file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None)))


def load_for_scripts() -> None:
    """Load what ranks of jobs need.

    Raises:
        ImportError: A module that they can't do without is missing.
    """
    _import(NEEDED_BY_SCRIPTS, OPTIONAL_FOR_SCRIPTS)


def _import(needed: Iterable[str], optional: Iterable[str]) -> None:
    for name in needed:
        importlib.import_module(name)
    for name in optional:
        try:
            importlib.import_module(name)
        except ImportError:
            continue


def freeze() -> None:
    """Keep what is loaded as it is for all forks to come; call it last, with the collector disabled.

    The collector skips frozen objects, also in children, where it would copy all pages that they share. Don't
    collect garbage before: children would fill the holes in shared pages. A collection afterwards frees only
    Python's free lists (of tuples, for example).
    """
    gc.freeze()
    # otherwise lookups in each child would replace entries, and so write to pages that are shared
    clear = getattr(sys, "_clear_internal_caches", None) or getattr(sys, "_clear_type_cache", None)
    if clear is not None:
        clear()
    gc.collect()
    gc.enable()


def since() -> list[str]:
    """Names of the modules that this process has imported after the fork, the last one first."""
    later = []
    for name in reversed(sys.modules):  # in the order of their import
        if name in names:
            break
        later.append(name)
    return later


class _Sys:
    """Python's `sys`, with no module in `modules`."""

    modules: dict[str, ModuleType] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(sys, name, value)


@contextmanager
def hidden_from(*readers: Any) -> Iterator[None]:
    """Hide all modules from code that looks through `sys.modules`.

    Args:
        readers: modules with such code.
    """
    for reader in readers:
        reader.sys = _Sys()
    try:
        yield
    finally:
        for reader in readers:
            reader.sys = sys
