"""Pickles of values without their numbers, which lie in one block of memory beside the pickle."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

import cloudpickle
import numpy as np

ALIGN = 64


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Leaves the numbers out of the pickle, and refers to process groups by name."""

    def __init__(self, file: io.BytesIO, *, unwrap: bool) -> None:
        super().__init__(file, protocol=5)
        self._unwrap = unwrap
        # a process that has not loaded torch has no tensors, and is spared the import
        self._torch: Any = sys.modules.get("torch")
        self.size = 0
        self.parts: list[tuple[int, Any]] = []
        self._known: dict[int, tuple[Any, ...]] = {}

    def persistent_id(self, obj: Any) -> Any:
        kind = type(obj)
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
        return super().reducer_override(obj)

    def _describe(self, obj: Any, kind: type) -> tuple[Any, ...]:
        at = self.size
        self.parts.append((at, obj))
        if kind is np.ndarray:
            self.size += -(-obj.nbytes // ALIGN) * ALIGN
            # the text of a type with fields lacks them
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


class Unpickler(pickle.Unpickler):
    """Rebuilds a value from its pickle and the memory that has its numbers."""

    def __init__(self, file: io.BytesIO, memory: Any) -> None:
        super().__init__(file)
        self._memory = memory
        self._known: dict[int, Any] = {}

    def persistent_load(self, described: Any) -> Any:
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


def find_group(name: str) -> Any:
    """The process group with a name in this process; called when a pickle that refers to one is loaded.

    Raises:
        LookupError: this process has no such group.
    """
    from dtrain_lab.rank.torch import groups

    return groups.find_group(name)
