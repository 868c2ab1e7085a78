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
import secrets
import socket
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from dtrain_lab.rank.data.pickler import Pickler, Unpickler

PIECE = 64 << 20
"""Bytes copied between two calls of the progress function."""
LONGEST_REASON = 120
"""Characters of a reason why a value can't be copied."""

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


def pack(
    value: Any,
    *,
    unwrap: bool = True,
    progress: Progress | None = None,
    namespace: dict[str, Any] | None = None,
    excluded: Collection[str] = (),
) -> Packed:
    """Prepare a value for transfer; `release` its memory once it has arrived.

    Args:
        value: anything that cloudpickle can pickle, with arrays and tensors of any size.
        unwrap: send the model inside a DDP wrapper, because the receiver is in no process group.
        progress: called with the bytes copied so far.
        namespace: variables of cells that another rank takes over; see `Pickler`, also for `excluded`.
        excluded: names in them that are not copied.

    Returns:
        The value in transfer, whose memory this process holds.

    Raises:
        TypeError, pickle.PicklingError, ...: whatever an object that can't be pickled raises.
    """
    file = io.BytesIO()
    pickler = Pickler(file, unwrap=unwrap, namespace=namespace, excluded=excluded)
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


def unpack(packed: Packed, data: Any = None, *, namespace: dict[str, Any] | None = None) -> Any:
    """Rebuild a packed value.

    Args:
        packed: as it was sent.
        data: bytes of its numbers, where they came from another host.
        namespace: variables to which functions of cells that were taken over belong.

    Returns:
        The value; its arrays and tensors are private copies that share memory until written to.

    Raises:
        OSError: its memory can't be reached from here.
    """
    memory = _memory(packed) if data is None else memoryview(bytearray(data))
    return Unpickler(io.BytesIO(packed.skeleton), memory, namespace).load()


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
            # the storage of a conjugate or negative view has the other tensor's numbers
            whole = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
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


def why_not(value: Any, namespace: dict[str, Any], excluded: Collection[str]) -> str:
    """Return why another rank can't take over a value, or an empty string; arguments as of `Pickler`."""
    if isinstance(value, ModuleType):
        return ""
    try:
        Pickler(io.BytesIO(), unwrap=False, namespace=namespace, excluded=excluded).dump(value)
    # pickling may raise anything; the user is told what
    except Exception as error:  # noqa: BLE001
        reason = f"{type(value).__name__}: {error}".splitlines()[0]
        return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1].rstrip()}…"
    return ""
