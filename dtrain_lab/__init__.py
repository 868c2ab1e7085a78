"""dtrain-lab: distributed PyTorch training in JupyterLab.

Lazy on purpose: a rank loads no service, and the Jupyter server loads no torch, unless it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dtrain_lab._version import __version__

if TYPE_CHECKING:
    from dtrain_lab.api import Cluster, Result, clusters, start

__all__ = ["Cluster", "Result", "__version__", "clusters", "start"]


def __getattr__(name: str) -> Any:
    if name in ("Cluster", "Result", "clusters", "start"):
        from dtrain_lab import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
