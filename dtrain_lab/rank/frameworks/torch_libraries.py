"""Makes Accelerate, Lightning and ignite find the ranks that already run.

No framework is imported here: each is patched when the user imports it.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from dtrain_lab.rank.import_hooks import after_import

LIGHTNING = ("lightning.fabric", "lightning.pytorch", "lightning_fabric", "pytorch_lightning")


def torchrun_variables(
    rank: int, size: int, local_rank: int, local_size: int, node: int, run: str
) -> dict[str, str]:
    """The variables that torchrun sets besides RANK, WORLD_SIZE and the like.

    Without them Lightning takes each rank for a single process.

    Args:
        rank: number of the rank in the world.
        size: number of ranks in the world.
        local_rank: number of the rank on its node.
        local_size: number of ranks on its node.
        node: number of its node.
        run: name of the world, as a torchrun run id.

    Returns:
        Environment variables by name.
    """
    return {
        "GROUP_RANK": str(node),
        "GROUP_WORLD_SIZE": str(max(1, size // max(1, local_size))),
        "ROLE_RANK": str(rank),
        "ROLE_WORLD_SIZE": str(size),
        "ROLE_NAME": "default",
        "TORCHELASTIC_RUN_ID": run,
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
    }


def introduce(computes_on_cpu: Callable[[], bool]) -> None:
    """Patch each framework once it is imported, so that it sees the ranks.

    Args:
        computes_on_cpu: whether this world has several ranks, and none has a GPU.
    """

    def accelerate(module: ModuleType) -> None:
        _accelerate(module, computes_on_cpu)

    def lightning(module: ModuleType) -> None:
        _lightning(module, computes_on_cpu)

    after_import("accelerate.state", accelerate)
    after_import("accelerate.launchers", _accelerate_launchers)
    after_import("ignite.distributed.comp_models.native", _ignite)
    for package in LIGHTNING:
        after_import(f"{package}.accelerators.cpu", lightning)


@contextmanager
def new_process() -> Iterator[None]:
    """Give the code inside the state that Accelerate would have in a new process, and restore it afterwards.

    For functions that run here in place of a process of their own: Accelerate keeps its state for the life of
    a process.
    """
    before = [(shared, dict(shared)) for shared in _accelerate_states()]
    for shared, _ in before:
        shared.clear()
    try:
        yield
    finally:
        for shared in _accelerate_states():
            shared.clear()
        for shared, values in before:
            shared.update(values)


def _accelerate_states() -> list[dict[str, Any]]:
    state: Any = sys.modules.get("accelerate.state")
    kinds: list[Any] = [
        getattr(state, f"{name}State", None) for name in ("Accelerator", "Gradient", "Partial")
    ]
    return [kind._shared_state for kind in kinds if hasattr(kind, "_shared_state")]


def _accelerate_launchers(module: ModuleType) -> None:
    """Let `notebook_launcher` run after a cell with an `Accelerator`: it refuses to fork such a process."""
    launchers: Any = module
    launchers.notebook_launcher = new_process()(launchers.notebook_launcher)


def _accelerate(module: ModuleType, computes_on_cpu: Callable[[], bool]) -> None:
    """Pass `cpu=True` on CPU worlds: Accelerate sees ranks only then, and Transformers never passes it."""
    partial: Any = module.PartialState
    usual = partial.__init__

    @functools.wraps(usual)
    def init(self: Any, cpu: bool = False, **kwargs: Any) -> None:
        usual(self, cpu or computes_on_cpu(), **kwargs)

    partial.__init__ = init


def _ignite(module: ModuleType) -> None:
    """Give ignite the existing process group: it refuses to create one where one exists."""
    import torch.distributed as dist

    model: Any = getattr(module, "_NativeDistModel", None)
    if model is None:
        return
    usual = model.create_from_backend

    def create_from_backend(*args: Any, **kwargs: Any) -> Any:
        return model.create_from_context() if dist.is_initialized() else usual(*args, **kwargs)

    model.create_from_backend = staticmethod(create_from_backend)


def _lightning(module: ModuleType, computes_on_cpu: Callable[[], bool]) -> None:
    """Make `devices="auto"` count this node's ranks on CPU worlds: Lightning's own answer there is 1."""
    accelerator: Any = module.CPUAccelerator
    usual = accelerator.auto_device_count

    def auto_device_count() -> int:
        return int(os.environ["LOCAL_WORLD_SIZE"]) if computes_on_cpu() else int(usual())

    accelerator.auto_device_count = staticmethod(auto_device_count)
