"""Digest of the code that a function or a module runs, so that results of other code are not continued."""

from __future__ import annotations

import contextlib
import dis
import functools
import hashlib
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch
from torch import nn

from dtrain_lab.training.inference.model import fingerprint

PLAIN = (bool, int, float, complex, str, bytes, type(None))
UNREADABLE = (RuntimeError, TypeError, ValueError, NotImplementedError)
"""Raised on reading sparse, quantized or meta tensors: the digest then covers type and shape only."""
OF_ONE_RANK = (torch.Tensor, nn.Parameter)
"""Types of tensors whose values are local: a DTensor would need a collective, and only one rank runs this."""
MOST_VALUES = 1 << 24
"""Approximate number of values used per tensor; a larger tensor is sampled at even steps."""
STORES = ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF")


def digest(*called: Any) -> str:
    """Digest of the code of functions and modules, the same in every process of one Python.

    For a function it covers the code, the defaults, and what the code reads: functions of the same file,
    torch's modules with their parameters, tensors and plain values; but not what the code itself assigns,
    such as a counter.
    For a module it covers the code of its classes, except torch's.

    Args:
        called: functions, modules or other objects that can be called; None is skipped.
    """
    code = _Digest()
    for value in called:
        if isinstance(value, nn.Module):
            code.classes(value)
        elif value is not None:
            code.value(value)
    return code.hash.hexdigest()


class _Digest:
    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._visited: set[int] = set()

    def value(self, value: Any) -> None:
        if isinstance(value, PLAIN):
            self._add(type(value).__name__, repr(value))
        elif isinstance(value, tuple):
            self._add("tuple", str(len(value)))
            for part in value:
                self.value(part)
        elif id(value) in self._visited:
            self._add("again")
        else:
            self._visited.add(id(value))
            self._object(value)

    def classes(self, module: nn.Module) -> None:
        kinds = {kind for part in module.modules() for kind in type(part).__mro__ if not _of_torch(kind)}
        for kind in sorted(kinds, key=lambda kind: (kind.__module__, kind.__qualname__)):
            self._add(kind.__qualname__)
            self._methods(kind)

    def _object(self, value: Any) -> None:
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, MethodType):
            self.value(value.__func__)
            if isinstance(value.__self__, nn.Module):
                self.value(value.__self__)
        elif isinstance(value, functools.partial):
            self.value((value.func, value.args, tuple(sorted(value.keywords.items()))))
        elif isinstance(value, nn.Module):
            with contextlib.suppress(*UNREADABLE):
                self._add(fingerprint(value, whole=True))
            self.classes(value)
        elif isinstance(value, torch.Tensor):
            self._add(str(value.dtype), str(tuple(value.shape)))
            if type(value) in OF_ONE_RANK and value.layout == torch.strided and value.device.type != "meta":
                with contextlib.suppress(*UNREADABLE):
                    flat = value.detach().reshape(-1)
                    flat = flat[:: max(1, flat.numel() // MOST_VALUES)]
                    self.hash.update(flat.cpu().contiguous().view(torch.uint8).numpy())
        else:
            kind = type(value)
            self._add(kind.__module__, kind.__qualname__)
            if not _of_torch(kind) and callable(value) and not isinstance(value, type):
                self._methods(kind)

    def _methods(self, kind: type) -> None:
        for name, method in sorted(vars(kind).items()):
            if isinstance(method, FunctionType):
                self._add(name)
                self._code(method.__code__)

    def _function(self, function: FunctionType) -> None:
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:  # torch.compile(function), or another decorator
            self.value(wrapped)
        if (function.__module__ or "").split(".")[0] == "torch":
            self._add(function.__qualname__)
            return
        code = function.__code__
        self._code(code)
        self.value(function.__defaults__)
        self.value(tuple(sorted((function.__kwdefaults__ or {}).items())))
        names, stored = _names(code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                inner = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            if name not in stored:
                self._read(function, name, inner)
        for name in sorted(names - stored):
            if name in function.__globals__:
                self._read(function, name, function.__globals__[name])

    def _read(self, function: FunctionType, name: str, value: Any) -> None:
        """Add what a function reads; other packages, and large objects without a value, count by their
        names."""
        self._add(name)
        near = isinstance(value, FunctionType) and value.__module__ == function.__module__
        if near or isinstance(value, (*PLAIN, tuple, MethodType, functools.partial, nn.Module, torch.Tensor)):
            self.value(value)

    def _code(self, code: CodeType) -> None:
        self._add(code.co_code.hex(), *code.co_names, "/", *code.co_varnames, "/", *code.co_freevars)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant)
            elif isinstance(constant, frozenset):  # without a stable order
                self._add(*sorted(map(repr, constant)))
            else:
                self._add(repr(constant))

    def _add(self, *texts: str) -> None:
        for text in texts:
            self.hash.update(f"{len(text)}:{text};".encode("utf-8", "surrogatepass"))


def _of_torch(kind: type) -> bool:
    return kind.__module__.split(".")[0] in ("torch", "builtins")


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """Globals that code reads, also in nested functions, and names of globals that it assigns."""
    read: set[str] = set()
    stored: set[str] = set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read.add(step.argval)
        elif step.opname in STORES:
            stored.add(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = _names(constant)
            read |= inner[0]
            stored |= inner[1]
    return read, stored
