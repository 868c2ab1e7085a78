"""The ranks that share a call: how they meet, and how the failure of one ends the call on all."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from dtrain_lab.errors import PeerFailed
from dtrain_lab.training import group

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """This rank among those of the default process group; one of one where there is none.

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
        """Do something on every rank, and learn what came of it on each, by rank; a collective.

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
        """Tell the other ranks how something went here, and learn how it went there; a collective.

        Raises:
            PeerFailed: It failed on another rank.
            Exception: `error`.
        """
        if self.size == 1:
            if error is not None:
                raise error
            return [value]
        told: list[Any] = [None] * self.size
        dist.all_gather_object(told, (value, None if error is None else f"{type(error).__name__}: {error}"))
        if error is not None:
            raise error
        for rank, (_, failure) in enumerate(told):
            if failure is not None:
                raise PeerFailed(
                    f"{self.call} ended on this rank, too, as rank {rank} failed: {failure}",
                    details={"rank": rank},
                )
        return [value for value, _ in told]

    def exchange(self, value: T) -> list[T]:
        """The values of all ranks, by rank; a collective. What can't be pickled is an error on all."""
        if self.size == 1:
            return [value]
        return [pickle.loads(packed) for packed in self.everyone(lambda: pickle.dumps(value))]

    def sums(self, *numbers: int) -> list[int]:
        """The sums of whole numbers over all ranks; a collective."""
        if self.size == 1:
            return list(numbers)
        tensor = torch.tensor(numbers, dtype=torch.int64, device=self.carrier)
        dist.all_reduce(tensor)
        return [int(number) for number in tensor.tolist()]

    def broadcast(self, tensor: torch.Tensor, source: int) -> None:
        """Replace a tensor's values by those of a rank, in place; a collective. Any data type will do."""
        if self.size == 1 or not tensor.numel():
            return
        straight = tensor.is_contiguous() and tensor.device.type == self.carrier.type
        sent = tensor if straight else tensor.detach().to(self.carrier).contiguous()
        # as bytes: back-ends differ in the types that they send
        dist.broadcast(sent.view(-1).view(torch.uint8), source)
        if not straight:
            tensor.copy_(sent)


def ranks(call: str) -> Ranks:
    """The ranks of the default process group, which is made where a launcher started several."""
    if not group.join():
        return Ranks(call, 0, 1, torch.device("cpu"))
    carrier = torch.device("cpu")
    if "cpu:" not in str(dist.get_backend_config()):
        carrier = torch.device("cuda", torch.cuda.current_device())
    return Ranks(call, dist.get_rank(), dist.get_world_size(), carrier)
