"""dtrain-lab: distributed PyTorch training in JupyterLab.

Lazy on purpose: a rank loads no service, and the Jupyter server loads no torch, unless it is used.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dtrain_lab._version import __version__

if TYPE_CHECKING:
    from dtrain_lab.api import (
        Cluster,
        Job,
        Result,
        Sweep,
        advise,
        clusters,
        jobs,
        start,
        submit,
        sweep,
        sweeps,
    )
    from dtrain_lab.sweeps.space import loguniform, randint, uniform
    from dtrain_lab.training.batch_size.largest import largest_batch
    from dtrain_lab.training.batch_size.learning_rate import scale_lr
    from dtrain_lab.training.batch_size.sizes import global_batch, per_rank_batch
    from dtrain_lab.training.checkpoint import checkpoint, checkpoint_dir, latest_checkpoint
    from dtrain_lab.training.guard import guard
    from dtrain_lab.training.inference.evaluate import evaluate
    from dtrain_lab.training.inference.predict import predict
    from dtrain_lab.training.log import log
    from dtrain_lab.training.optimize import optimize
    from dtrain_lab.training.shared_files import main_first, once_per_node, rank_dir
    from dtrain_lab.training.staged import staged
    from dtrain_lab.training.step import step

__all__ = [
    "Cluster",
    "Job",
    "Result",
    "Sweep",
    "__version__",
    "advise",
    "checkpoint",
    "checkpoint_dir",
    "clusters",
    "evaluate",
    "global_batch",
    "guard",
    "jobs",
    "largest_batch",
    "latest_checkpoint",
    "log",
    "loguniform",
    "main_first",
    "once_per_node",
    "optimize",
    "per_rank_batch",
    "predict",
    "randint",
    "rank_dir",
    "scale_lr",
    "staged",
    "start",
    "step",
    "submit",
    "sweep",
    "sweeps",
    "uniform",
]

IN_RANKS = {
    "checkpoint": "checkpoint",
    "checkpoint_dir": "checkpoint",
    "latest_checkpoint": "checkpoint",
    "evaluate": "inference.evaluate",
    "guard": "guard",
    "log": "log",
    "predict": "inference.predict",
    "staged": "staged",
    "step": "step",
    "global_batch": "batch_size.sizes",
    "per_rank_batch": "batch_size.sizes",
    "largest_batch": "batch_size.largest",
    "scale_lr": "batch_size.learning_rate",
    "optimize": "optimize",
    "main_first": "shared_files",
    "once_per_node": "shared_files",
    "rank_dir": "shared_files",
}


RANGES = ("loguniform", "randint", "uniform")


def __getattr__(name: str) -> Any:
    if name in RANGES:
        from dtrain_lab.sweeps import space

        return getattr(space, name)
    if name in IN_RANKS:
        from importlib import import_module

        return getattr(import_module(f"dtrain_lab.training.{IN_RANKS[name]}"), name)
    if name in __all__:
        from dtrain_lab import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Package(ModuleType):
    """This package. Importing a submodule must not hide the function of that name (`dtrain_lab.jobs`)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle this package by name: pickle does so by itself for plain modules only."""
        from importlib import import_module

        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext dtrain_lab`."""
    from dtrain_lab.kernel.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext dtrain_lab`."""
    from dtrain_lab.kernel.extension import unload

    unload(shell)


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from dtrain_lab.server.app import DtrainLabApp

    return [{"module": "dtrain_lab", "app": DtrainLabApp}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """For `jupyter labextension develop`; a wheel ships the front end as shared data."""
    return [{"src": "../labextension", "dest": "dtrain-lab"}]
