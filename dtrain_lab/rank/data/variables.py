"""The user's variables in a rank: assigns pushed ones, packs others. Called through ipyparallel's `apply`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from dtrain_lab.rank.data.transfer import Packed, host, is_here, pack, unpack, why_not


def _names() -> dict[str, Any]:
    from IPython.core.getipython import get_ipython

    namespace: dict[str, Any] = get_ipython().user_ns
    return namespace


def receive(packed: Packed) -> str:
    """Assign pushed values to the user's variables.

    Args:
        packed: a dict from name to value.

    Returns:
        An empty string; or this rank's host where the memory is on another one and nothing was assigned.
    """
    if not is_here(packed):
        return host()
    _names().update(unpack(packed))
    return ""


def give(name: str) -> Packed:
    """Pack the value of a variable, or of an attribute of one.

    Raises:
        NameError, AttributeError: this rank has no such variable or attribute.
    """
    first, *rest = name.split(".")
    if first not in _names():
        raise NameError(f"name '{first}' is not defined")
    value = _names()[first]
    for part in rest:
        value = getattr(value, part)
    return pack(value)


def give_all() -> tuple[Packed, list[str], dict[str, str]]:
    """Pack all of the user's variables on this rank, for a rank that was restarted.

    Returns:
        The values by name, their names, and for each variable that can't be pickled the reason.
    """
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    hidden = shell.user_ns_hidden
    wanted = {n: v for n, v in shell.user_ns.items() if not n.startswith("_") and n not in hidden}
    values, left = {}, {}
    for name, value in wanted.items():
        reason = why_not(value, shell.user_ns, hidden)
        if reason:
            left[name] = reason
        else:
            values[name] = value
    return pack(values, unwrap=False, namespace=shell.user_ns, excluded=hidden), sorted(values), left


def paths() -> tuple[str, list[str]]:
    """Working directory and module path of this rank; cells may have changed both."""
    return os.getcwd(), sys.path


def use_paths(folder: str, others: list[str]) -> None:
    """Take over another rank's directory and module path, because values may need classes found there.

    Args:
        folder: The other rank's working directory; ignored if this node doesn't have it.
        others: Its `sys.path`.
    """
    if os.path.isdir(folder):
        os.chdir(folder)
    sys.path += [path for path in others if path not in sys.path]


def receive_all(packed: Packed) -> str:
    """Assign another rank's variables, with samplers and models in DDP set to this rank's number and GPU.

    Args:
        packed: a dict from name to value.

    Returns:
        As `receive`.
    """
    if not is_here(packed):
        return host()
    names = _names()
    builtins = names.get("__builtins__")
    values: Mapping[str, Any] = unpack(packed, namespace=names)
    names.update(values)
    if builtins is not None:  # functions that are rebuilt set it to the dict of the module
        names["__builtins__"] = builtins
    _make_own()
    return ""


def _make_own() -> None:
    """Give this rank's number to distributed samplers, and its GPU to models in DDP."""
    import gc

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DistributedSampler

    for instance in gc.get_objects():
        # type(), not isinstance, which asks lazy objects for their class and so loads modules
        if type(instance) is DistributedSampler:
            instance.rank = dist.get_rank()
        elif type(instance) is DistributedDataParallel and instance.device_ids:
            instance.device_ids = [torch.cuda.current_device()]
            if instance.output_device is not None:
                instance.output_device = instance.device_ids[0]
