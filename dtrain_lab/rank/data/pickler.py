"""Pickles of values without their numbers, which lie in one block of memory beside the pickle."""

from __future__ import annotations

import functools
import io
import pickle
import sys
from collections.abc import Collection
from types import FunctionType
from typing import Any

import cloudpickle
import numpy as np

ALIGN = 64


CACHED = type(functools.lru_cache(lambda: None))
NAMESPACE = ("namespace",)
"""Stands in a pickle for the variables of the process that loads it."""


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Leaves the numbers out of the pickle, and refers to process groups by name.

    Args:
        file: for the pickle.
        unwrap: write the model inside a DDP wrapper.
        namespace: variables of cells, which another rank takes over. Functions of cells then belong to that
            rank's variables, so that they read its `rank` and what later cells assign; its own GPU takes the
            place of this rank's.
        excluded: names in `namespace` that are not copied, even where a function uses them.
    """

    def __init__(
        self,
        file: io.BytesIO,
        *,
        unwrap: bool,
        namespace: dict[str, Any] | None = None,
        excluded: Collection[str] = (),
    ) -> None:
        super().__init__(file, protocol=5)
        self._unwrap = unwrap
        self._namespace = namespace
        self._excluded = excluded
        # a process that has not loaded torch has no tensors, and is spared the import
        self._torch: Any = sys.modules.get("torch")
        self.size = 0
        self.parts: list[tuple[int, Any]] = []
        self._known: dict[int, tuple[Any, ...]] = {}

    def persistent_id(self, obj: Any) -> Any:
        kind = type(obj)
        if kind is _Namespace:
            return NAMESPACE
        torch = self._torch
        if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
            if obj.layout is not torch.strided or obj.is_quantized:
                return None
        elif kind is not np.ndarray or obj.dtype.hasobject:
            return None
        if id(obj) not in self._known:
            self._known[id(obj)] = self._describe(obj, kind)
        return self._known[id(obj)]

    def reducer_override(self, obj: Any) -> Any:
        torch = self._torch
        if torch is not None and torch.distributed.is_available():
            if isinstance(obj, torch.distributed.ProcessGroup):
                from dtrain_lab.rank.torch.groups import group_names

                return find_group, (group_names()[obj],)
            if self._unwrap and isinstance(obj, torch.nn.parallel.DistributedDataParallel):
                return _same, (obj.module,)
        if self._namespace is not None:
            if isinstance(obj, FunctionType) and obj.__globals__ is self._namespace:
                return self._function(super().reducer_override(obj))
            if isinstance(obj, CACHED) and obj.__wrapped__.__globals__ is self._namespace:
                return cached, (obj.__wrapped__, obj.cache_parameters())  # pickle would store only its name
            if torch is not None and isinstance(obj, torch.device) and _is_own(obj):
                return own_device, ()
        return super().reducer_override(obj)

    def _function(self, reduced: Any) -> Any:
        """A function of a cell, in cloudpickle's form (make, (code, globals, …), (attributes, slots), …)."""
        if not isinstance(reduced, tuple):  # pickled by module and name
            return reduced
        make, (code, _, *others), (attributes, slots), *rest = reduced
        # variables that it uses are copied on their own, except private ones, which go with the function
        used = {
            n: v for n, v in slots["__globals__"].items() if n.startswith("_") and n not in self._excluded
        }
        return make, (code, _Namespace(), *others), (attributes, {**slots, "__globals__": used}), *rest

    def _describe(self, obj: Any, kind: type) -> tuple[Any, ...]:
        at = self.size
        self.parts.append((at, obj))
        if kind is np.ndarray:
            self.size += -(-obj.nbytes // ALIGN) * ALIGN
            # `dtype.str` of a structured type lacks its fields
            return ("array", at, obj.dtype.str if obj.dtype.names is None else obj.dtype, obj.shape)
        size = obj.numel() * obj.element_size()
        self.size += -(-size // ALIGN) * ALIGN
        wants = obj.requires_grad and obj.is_leaf
        return (
            "tensor",
            at,
            obj.dtype,
            tuple(obj.shape),
            obj.device.type,
            wants,
            kind is not self._torch.Tensor,
        )


class _Namespace:
    """Stands for the variables of the process that loads a pickle, while it is written."""


class Unpickler(pickle.Unpickler):
    """Rebuilds a value from its pickle and the memory that has its numbers.

    Args:
        file: has the pickle.
        memory: has the numbers.
        namespace: variables to which functions of cells belong from now on.
    """

    def __init__(self, file: io.BytesIO, memory: Any, namespace: dict[str, Any] | None = None) -> None:
        super().__init__(file)
        self._memory = memory
        self._namespace = namespace if namespace is not None else {}
        self._known: dict[int, Any] = {}

    def persistent_load(self, described: Any) -> Any:
        if described == NAMESPACE:
            return self._namespace
        at = described[1]
        key = hash(described)
        if key not in self._known:
            make = self._array if described[0] == "array" else self._tensor
            self._known[key] = make(at, *described[2:])
        return self._known[key]

    def _array(self, at: int, dtype: Any, shape: tuple[int, ...]) -> Any:
        count = int(np.prod(shape, dtype=np.int64))
        if not count:
            return np.empty(shape, dtype)
        return np.frombuffer(self._memory, dtype, count, at).reshape(shape)

    def _tensor(
        self, at: int, dtype: Any, shape: tuple[int, ...], device: str, wants: bool, parameter: bool
    ) -> Any:
        import torch

        count = int(np.prod(shape, dtype=np.int64))
        if count:
            value = torch.frombuffer(self._memory, dtype=dtype, count=count, offset=at).reshape(shape)
        else:
            value = torch.empty(shape, dtype=dtype)
        if device == "cuda" and torch.cuda.is_available():
            value = value.cuda()
        if parameter:
            return torch.nn.Parameter(value, requires_grad=wants)
        return value.requires_grad_(wants) if wants else value


def _same(value: Any) -> Any:
    return value


def cached(function: Any, parameters: dict[str, Any]) -> Any:
    """A function of a cell behind `functools.lru_cache`, with nothing in the cache.

    Args:
        function: The function.
        parameters: Those of `lru_cache`: `maxsize` and `typed`.
    """
    return functools.lru_cache(**parameters)(function)


def _is_own(device: Any) -> bool:
    """Whether a device is the GPU that this process computes on."""
    import torch

    if device.type != "cuda" or not torch.cuda.is_available():
        return False
    return bool(device.index == torch.cuda.current_device())


def own_device() -> Any:
    """The GPU that this process computes on; called when a pickle that refers to it is loaded."""
    import torch

    return torch.device("cuda", torch.cuda.current_device() if torch.cuda.is_available() else 0)


def find_group(name: str) -> Any:
    """The process group with a name in this process; called when a pickle that refers to one is loaded.

    Raises:
        LookupError: this process has no such group.
    """
    from dtrain_lab.rank.torch import groups

    return groups.find_group(name)
