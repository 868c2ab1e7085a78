"""Transfers values between a notebook and its ranks: arrays and tensors in shared memory, the rest pickled.

A value becomes a skeleton (a pickle without the numbers) and one block of memory with all numbers. On one
node the memory is a descriptor that the receiver maps privately, so nothing is copied until it is written to.
The skeleton is sent through ipyparallel's authenticated channel, like every other pickle of ours.

Both ends use this module: the notebook's process, and a rank inside ipyparallel's `apply`.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import pickle
import secrets
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import cloudpickle
import numpy as np

ALIGN = 64
PIECE = 64 << 20
"""Bytes copied between two calls of the progress function."""

Progress = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all."""


@dataclass(frozen=True)
class Packed:
    """A value in transfer.

    Attributes:
        skeleton: the pickle, without the numbers.
        size: bytes of the numbers.
        token: names the memory in the process that holds it.
        pid: the process that holds the memory; -1 where the value has no numbers.
        descriptor: of the memory in that process; -1 where the value has no numbers.
        host: the host of that process; to another host the memory has to be sent, too.
    """

    skeleton: bytes
    size: int
    token: str = ""
    pid: int = -1
    descriptor: int = -1
    host: str = ""


_held: dict[str, int] = {}
"""Descriptors, by token, of values that their receivers have not taken yet."""


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
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
            return ("array", at, obj.dtype.str, obj.shape)
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


class _Unpickler(pickle.Unpickler):
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

    def _array(self, at: int, dtype: str, shape: tuple[int, ...]) -> Any:
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


def pack(value: Any, *, unwrap: bool = True, progress: Progress | None = None) -> Packed:
    """Prepare a value for transfer; `release` its memory once it has arrived.

    Args:
        value: anything that cloudpickle can pickle, with arrays and tensors of any size.
        unwrap: send the model inside a DDP wrapper, because the receiver is in no process group.
        progress: called with the bytes copied so far.

    Returns:
        The value in transfer, whose memory this process holds.

    Raises:
        TypeError, pickle.PicklingError, ...: whatever an object that can't be pickled raises.
    """
    file = io.BytesIO()
    pickler = _Pickler(file, unwrap=unwrap)
    pickler.dump(value)
    if not pickler.size:
        return Packed(file.getvalue(), 0)
    descriptor = os.memfd_create("dtrain-value")
    try:
        _copy(pickler.parts, descriptor, pickler.size, progress)
    except BaseException:
        os.close(descriptor)
        raise
    token = secrets.token_hex(8)
    _held[token] = descriptor
    return Packed(file.getvalue(), pickler.size, token, os.getpid(), descriptor, host())


def host() -> str:
    """Identify this host: differs between machines, and between containers on one machine."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()} {socket.gethostname()}"


def is_here(packed: Packed) -> bool:
    """Whether this process can map the memory of a packed value."""
    return packed.descriptor < 0 or packed.host == host()


def numbers(packed: Packed) -> Any:
    """The memory of a packed value on this host as an array of uint8, to be sent to another machine."""
    return np.frombuffer(_memory(packed), np.uint8)


def unpack(packed: Packed, data: Any = None) -> Any:
    """Rebuild a packed value.

    Args:
        packed: as it was sent.
        data: bytes of its numbers, where they came from another host.

    Returns:
        The value; its arrays and tensors are private copies that share memory until written to.

    Raises:
        OSError: its memory can't be reached from here.
    """
    memory = _memory(packed) if data is None else memoryview(bytearray(data))
    return _Unpickler(io.BytesIO(packed.skeleton), memory).load()


def release(token: str) -> None:
    """Close this process's memory of a packed value; processes that have mapped it keep their mapping."""
    descriptor = _held.pop(token, None)
    if descriptor is not None:
        os.close(descriptor)


def release_all(tokens: list[str]) -> None:
    """Release several packed values; tokens of other processes are ignored."""
    for token in tokens:
        release(token)


def _memory(packed: Packed) -> Any:
    if packed.descriptor < 0:
        return bytearray()
    descriptor = os.open(f"/proc/{packed.pid}/fd/{packed.descriptor}", os.O_RDONLY)
    try:
        flags, prot = mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE
        return mmap.mmap(descriptor, packed.size, flags=flags, prot=prot)
    finally:
        os.close(descriptor)


def _copy(parts: Iterable[tuple[int, Any]], descriptor: int, size: int, progress: Progress | None) -> None:
    os.ftruncate(descriptor, size)
    for at, value in parts:
        if isinstance(value, np.ndarray):
            whole = np.ascontiguousarray(value)
            address, count = whole.ctypes.data, whole.nbytes
        else:
            whole = value.detach().cpu().contiguous()
            address, count = whole.data_ptr(), whole.numel() * whole.element_size()
        if not count:
            continue
        source = memoryview((ctypes.c_char * count).from_address(address)).cast("B")
        for start in range(0, count, PIECE):
            end = min(start + PIECE, count)
            while start < end:
                start += os.pwrite(descriptor, source[start:end], at + start)
            if progress is not None:
                progress(at + end, size)


def _same(value: Any) -> Any:
    return value


def find_group(name: str) -> Any:
    """The process group with a name in this process; called when a pickle that refers to one is loaded.

    Raises:
        LookupError: this process has no such group.
    """
    from dtrain_lab.rank.torch import groups

    return groups.find_group(name)


# ---- called in ranks, through ipyparallel's `apply`


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


def carry(packed: Packed, data: Any) -> Packed:
    """Hold a value from another machine for all ranks of this one; `release` it afterwards.

    Args:
        packed: as it was sent.
        data: bytes of its numbers.

    Returns:
        The value, with memory of this process.
    """
    descriptor = os.memfd_create("dtrain-value")
    view = memoryview(data).cast("B")
    while view:
        view = view[os.write(descriptor, view) :]
    token = secrets.token_hex(8)
    _held[token] = descriptor
    return Packed(packed.skeleton, packed.size, token, os.getpid(), descriptor, host())


def fetch(token: str) -> Any:
    """The numbers of a value that this process holds, as uint8, for a process on another machine.

    Raises:
        KeyError: this process holds no value with this token.
    """
    descriptor = _held[token]
    return np.frombuffer(mmap.mmap(descriptor, 0, prot=mmap.PROT_READ), np.uint8)


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
        reason = _cannot_travel(value)
        if reason:
            left[name] = reason
        else:
            values[name] = value
    return pack(values, unwrap=False), sorted(values), left


def paths() -> tuple[str, list[str]]:
    """Working directory and module path of this rank; cells may have changed both."""
    return os.getcwd(), sys.path


def use_paths(folder: str, others: list[str]) -> None:
    """Take over another rank's directory and module path, because values may need classes found there."""
    if os.path.isdir(folder):
        os.chdir(folder)
    sys.path += [path for path in others if path not in sys.path]


def receive_all(packed: Packed) -> str:
    """Assign another rank's variables, with its distributed samplers set to this rank's number.

    Args:
        packed: a dict from name to value.

    Returns:
        As `receive`.
    """
    if not is_here(packed):
        return host()
    values: Mapping[str, Any] = unpack(packed)
    _names().update(values)
    import gc

    import torch.distributed as dist
    from torch.utils.data import DistributedSampler

    for sampler in [o for o in gc.get_objects() if type(o) is DistributedSampler]:
        sampler.rank = dist.get_rank()
    return ""


def _cannot_travel(value: Any) -> str:
    if isinstance(value, ModuleType):
        return ""
    try:
        _Pickler(io.BytesIO(), unwrap=False).dump(value)
    # pickling may raise anything; the user is told what
    except Exception as error:  # noqa: BLE001
        return f"{type(value).__name__}: {error}".splitlines()[0][:120]
    return ""
