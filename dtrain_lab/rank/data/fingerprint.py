"""Fingerprint of a variable on this rank: a digest per leaf, small enough to compare across ranks."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from ctypes import c_ulong, py_object, pythonapi
from typing import Any

import cloudpickle
import numpy as np
import torch
from msgspec.structs import replace
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.cells.diff import UNSEEN
from dtrain_lab.wire.links.values import Leaf

TEXT = 200
"""Maximum characters of a plain value's text that are sent."""
MOST_PRINTED = 1000
"""Elements up to which NumPy prints a whole array."""
PLAIN = (bool, int, float, complex, str, bytes, type(None))
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""An address in a text, which differs on all ranks, and is meaningless."""
WITHIN_S = 2.0
"""Maximum time for which the `__repr__` of objects may run."""


def leaves(name: str) -> list[Leaf]:
    """Leaves of a variable of this rank, in order.

    Args:
        name: a variable, or an attribute of one (`model.weight`).

    Raises:
        NameError, AttributeError: the rank has no such variable.
    """
    return [_leaf(path, part) for path, part in _walk("", _value(name))]


def leaves_of(value: Any) -> list[Leaf]:
    """Leaves of a value, in order, with what objects print: for a debugger, which prints the value anyway."""
    leaves = []
    for path, part in _walk("", value):
        leaf = _leaf(path, part)
        leaves.append(replace(leaf, outside=_outside(part)) if leaf.kind == "object" else leaf)
    return leaves


def appearances(name: str, paths: Sequence[str], within_s: float = WITHIN_S) -> dict[str, str]:
    """What objects of this rank print, as `Leaf.outside`; called for those whose pickles tell too little.

    Their `__repr__` is the user's code: it runs in a thread, which is ended where it takes too long.

    Args:
        name: a variable, or an attribute of one.
        paths: paths of the objects in it.
        within_s: how long to wait for all of them, seconds.

    Returns:
        Path → `Leaf.outside`; `UNSEEN` for objects that did not print in time.
    """
    wanted = set(paths)
    parts = {path: part for path, part in _walk("", _value(name)) if path in wanted}
    printed: dict[str, str] = {}

    def look() -> None:
        with contextlib.suppress(SystemExit):  # as raised below
            for path, part in parts.items():
                printed[path] = _outside(part)

    thread = threading.Thread(target=look, name="dtrain-lab repr", daemon=True)
    thread.start()
    thread.join(within_s)
    if thread.is_alive():  # it ends once it runs Python
        pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread.ident or 0), py_object(SystemExit))
    return {path: printed.get(path, UNSEEN) for path in paths}


def leaf_value(name: str, path: str) -> Any:
    """One numeric leaf of a variable, as an array.

    Args:
        name: a variable, or an attribute of one.
        path: path of the leaf in it.

    Returns:
        Array of complex128 for complex numbers, else of float64.

    Raises:
        KeyError: the variable has no such leaf.
    """
    return values_of(_value(name), path)


def values_of(value: Any, path: str) -> Any:
    """One numeric leaf of a value, as an array of complex128 or float64.

    Args:
        value: The value, such as a tensor or a nested container of tensors.
        path: Path of the leaf in it; empty if the value is the leaf.

    Returns:
        A numpy array of the leaf's shape.

    Raises:
        KeyError: the value has no such leaf.
    """
    for place, part in _walk("", value):
        if place == path:
            tensor = torch.as_tensor(part).detach().cpu()
            if tensor.is_quantized:
                tensor = tensor.dequantize()
            elif tensor.layout is not torch.strided:
                tensor = tensor.to_dense()
            tensor = tensor.resolve_conj().resolve_neg()
            return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64).numpy()
    raise KeyError(path)


def _value(name: str) -> Any:
    from IPython.core.getipython import get_ipython

    first, *rest = name.split(".")
    namespace = get_ipython().user_ns
    if first not in namespace:
        raise NameError(f"name '{first}' is not defined")
    value = namespace[first]
    for part in rest:
        value = getattr(value, part)
    return value


def _walk(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, DistributedDataParallel):
        value = value.module
    if not isinstance(value, torch.Tensor) and callable(getattr(value, "state_dict", None)):
        value = value.state_dict()
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(f"{path}.{key}" if path else str(key), item)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for index, item in enumerate(value):
            yield from _walk(f"{path}[{index}]", item)
    else:
        yield path, local(value)


def local(value: Any) -> Any:
    """Return this rank's part of a tensor that is divided among ranks; other values unchanged.

    Gathering the whole tensor would be a collective, which hangs unless all ranks call it.
    """
    return value.to_local() if isinstance(value, torch.Tensor) and hasattr(value, "to_local") else value


def _leaf(path: str, value: Any) -> Leaf:
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return Leaf(path, "tensor", kind, tuple(value.shape), _digest(_bytes(value)))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        data = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        if value.dtype.kind not in "biufc":  # strings, dates and records have no numeric difference
            return Leaf(path, "object", f"array of {value.dtype}", (), _digest(data))
        return Leaf(path, "array", str(value.dtype), value.shape, _digest(data))
    if isinstance(value, PLAIN):
        # of the plain type: a subclass may print by code of the user
        plain: Any = next(kind for kind in PLAIN if isinstance(value, kind))
        text = plain.__repr__(value)
        if len(text) > TEXT:  # a digest distinguishes long texts with the same beginning
            text = f"{text[:TEXT]}… ({_digest(text.encode())})"
        return Leaf(path, "value", type(value).__name__, (), text)
    try:
        digest = _digest(_pickled(value))
    # objects that can't be pickled are compared by what they print
    except Exception:  # noqa: BLE001
        digest = ""
    return Leaf(path, "object", type(value).__name__, (), digest)


def _outside(value: Any) -> str:
    """A digest of what an object prints, and of its numbers and texts; empty if it prints only its address.

    `UNSEEN` if its `__repr__` fails.

    Large arrays and tables print a part of their content only, and their pickles tell all of it.
    """
    kind: Any = type(value)
    few = isinstance(value, np.ndarray) and value.size <= MOST_PRINTED
    if kind.__repr__ is object.__repr__ or (hasattr(kind, "__array__") and not few):
        return ""
    try:
        texts = [ADDRESS.sub("", repr(value))]
        parts = (part for _, part in _walk("", getattr(value, "__dict__", {})))
        texts += [_leaf("", p).digest for p in parts if isinstance(p, (*PLAIN, torch.Tensor, np.ndarray))]
    # a user's __repr__ may fail; attributes may contain themselves
    except Exception:  # noqa: BLE001
        return UNSEEN
    return _digest("\n".join(texts).encode("utf-8", "replace"))


def _bytes(value: Any) -> Any:
    """The numbers of a tensor; a pickle of one that is sparse, quantized or otherwise no plain array."""
    value = value.detach()
    if not _is_plain(value):
        return _pickled(value.coalesce() if value.is_sparse else value)
    plain = value.cpu().resolve_conj().resolve_neg().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy()


def _is_plain(value: torch.Tensor) -> bool:
    return value.layout is torch.strided and not value.is_quantized and not value.is_meta


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles equal objects of two processes to equal bytes.

    A pickle of torch's names storages by their address, and cloudpickle gives each class of a notebook an id
    of its process.
    """

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, type):
            return ("class", obj.__module__, obj.__qualname__)
        if isinstance(obj, torch.TypedStorage | torch.UntypedStorage):
            plain = obj.untyped() if isinstance(obj, torch.TypedStorage) else obj
            obj = torch.empty(0, dtype=torch.uint8, device=plain.device).set_(plain)
        if isinstance(obj, torch.Tensor) and _is_plain(local(obj)):
            part = local(obj)
            return ("tensor", str(part.dtype), tuple(part.shape), _digest(_bytes(part)))
        return None


def _pickled(value: Any) -> bytes:
    stream = io.BytesIO()
    _Pickler(stream).dump(value)
    return stream.getvalue()


def _digest(data: Any) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()
