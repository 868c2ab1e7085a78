"""The ranks that share a call: their communication, and how the failure of one ends the call on all."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from dtrain_lab.errors import PeerFailed
from dtrain_lab.training import group

T = TypeVar("T")
FRAME = 4096
"""Bytes that ranks exchange in one message; longer values take a second one."""
LENGTH = 8
"""Bytes of the length at its beginning."""
AT_ONCE = 8
"""Maximum number of concurrent broadcasts."""


@dataclass(frozen=True)
class Sums:
    """Sums over all ranks that are being computed.

    Args:
        tensor: gets the sums.
        work: the collective; None if there is one rank.
    """

    tensor: torch.Tensor
    work: dist.Work | None

    @property
    def there(self) -> bool:
        """Whether `wait` would return at once."""
        return self.work is None or bool(self.work.is_completed())

    def wait(self) -> list[int]:
        """The sums."""
        if self.work is not None:
            self.work.wait()
        return [int(number) for number in self.tensor.tolist()]


@dataclass(frozen=True)
class Ranks:
    """This rank in the default process group; rank 0 of 1 without a group.

    Args:
        call: name of the public function, for errors: "dt.predict".
        number: this rank.
        size: number of ranks.
        carrier: device of tensors that the group can send.
    """

    call: str
    number: int
    size: int
    carrier: torch.device

    def everyone(self, act: Callable[[], T]) -> list[T]:
        """Run an action on every rank, and return each rank's result, by rank; a collective.

        Raises:
            PeerFailed: It failed on another rank.
            Exception: What it raised on this rank.
        """
        try:
            value, error = act(), None
        except Exception as failed:  # noqa: BLE001 # raised again, once the other ranks know
            value, error = None, failed
        return self.outcomes(value, error)

    def outcomes(self, value: Any, error: Exception | None) -> list[Any]:
        """Exchange the outcome of an action on each rank; a collective.

        Args:
            value: the result on this rank.
            error: the exception on this rank; None if it succeeded.

        Raises:
            PeerFailed: It failed on another rank.
            Exception: `error`.
        """
        if self.size == 1:
            if error is not None:
                raise error
            return [value]
        answers = self._gathered((value, None if error is None else f"{type(error).__name__}: {error}"))
        if error is not None:
            raise error
        for rank, (_, failure) in enumerate(answers):
            if failure is not None:
                raise PeerFailed(
                    f"{self.call} ended on this rank, too, as rank {rank} failed: {failure}",
                    details={"rank": rank},
                )
        return [value for value, _ in answers]

    def _gathered(self, value: Any) -> list[Any]:
        """The values of all ranks; unlike `all_gather_object`, in a single message if they are short."""
        packed = pickle.dumps(value)
        frames = self._all_bytes(len(packed).to_bytes(LENGTH, "little") + packed[: FRAME - LENGTH], FRAME)
        lengths = [int.from_bytes(frame[:LENGTH], "little") for frame in frames]
        rest = max(lengths) + LENGTH - FRAME
        rests = self._all_bytes(packed[FRAME - LENGTH :], rest) if rest > 0 else [b""] * self.size
        return [
            pickle.loads((frame[LENGTH:] + more)[:length])
            for frame, more, length in zip(frames, rests, lengths, strict=True)
        ]

    def _all_bytes(self, data: bytes, size: int) -> list[bytes]:
        """The bytes of all ranks, padded to the same size; a collective."""
        padded = torch.frombuffer(bytearray(data.ljust(size, b"\0")), dtype=torch.uint8).to(self.carrier)
        gathered = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(gathered, padded)
        return [tensor.cpu().numpy().tobytes() for tensor in gathered]

    def exchange(self, value: T) -> list[T]:
        """The values of all ranks, by rank; a collective. Where one can't be pickled, all ranks raise."""
        if self.size == 1:
            return [value]
        return [pickle.loads(packed) for packed in self.everyone(lambda: pickle.dumps(value))]

    def sums(self, *numbers: int) -> list[int]:
        """The sums of integers over all ranks; a collective."""
        return self.sums_begun(*numbers).wait()

    def sums_begun(self, *numbers: int) -> Sums:
        """Start to sum integers over all ranks without waiting; a collective."""
        tensor = torch.tensor(numbers, dtype=torch.int64, device=self.carrier)
        return Sums(tensor, None if self.size == 1 else dist.all_reduce(tensor, async_op=True))

    def broadcast(self, tensor: torch.Tensor, source: int) -> None:
        """Replace a tensor's values by those of a rank, in place; a collective. Any data type will do.

        Args:
            tensor: the tensor.
            source: rank whose values all ranks get.
        """
        self.broadcast_all([([tensor], source)])

    def broadcast_all(self, some: Iterable[tuple[list[torch.Tensor], int]]) -> None:
        """Broadcast lists of tensors, each from the rank that has its values.

        Tensors of a list have one data type, and are sent as one message; a few messages are sent
        concurrently.
        """
        if self.size == 1:
            return
        begun: deque[Callable[[], None]] = deque()
        for tensors, source in some:
            if len(begun) >= AT_ONCE:
                begun.popleft()()
            if any(tensor.numel() for tensor in tensors):
                begun.append(self._broadcast_begun(tensors, source))
        for end in begun:
            end()

    def _broadcast_begun(self, tensors: list[torch.Tensor], source: int) -> Callable[[], None]:
        first = tensors[0]
        straight = len(tensors) == 1 and first.is_contiguous() and first.device.type == self.carrier.type
        sent = first.view(-1) if straight else self._packed(tensors, source)
        # as bytes: back-ends differ in the types that they send
        work = dist.broadcast(sent.view(torch.uint8), source, async_op=True)

        def end() -> None:
            work.wait()
            if not straight and source != self.number:
                for tensor, values in zip(tensors, sent.split([t.numel() for t in tensors]), strict=True):
                    tensor.copy_(values.view(tensor.shape))

        return end

    def _packed(self, tensors: list[torch.Tensor], source: int) -> torch.Tensor:
        if source == self.number:
            return torch.cat([tensor.detach().to(self.carrier).reshape(-1) for tensor in tensors])
        size = sum(tensor.numel() for tensor in tensors)
        return torch.empty(size, dtype=tensors[0].dtype, device=self.carrier)


def ranks(call: str) -> Ranks:
    """The ranks of the default process group, which is created if a launcher started several ranks."""
    if not group.join():
        return Ranks(call, 0, 1, torch.device("cpu"))
    carrier = torch.device("cpu")
    if "cpu:" not in str(dist.get_backend_config()):
        carrier = torch.device("cuda", torch.cuda.current_device())
    return Ranks(call, dist.get_rank(), dist.get_world_size(), carrier)
