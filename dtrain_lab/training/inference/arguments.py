"""Arguments of a call, checked on every rank to be valid and the same on all ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dtrain_lab.errors import BadRequest
from dtrain_lab.training.inference import dataset
from dtrain_lab.training.inference import model as models
from dtrain_lab.training.inference.batch_shares import Batches, usual_batch_size
from dtrain_lab.training.inference.rank_exchange import Ranks


@dataclass(frozen=True)
class InferenceArguments:
    """Arguments that `dt.predict` and `dt.evaluate` share."""

    model: Callable[..., Any]
    dataset: Any
    batch_size: int | None
    collate_fn: Callable[[list[Any]], Any] | None
    num_workers: int
    output: str | None = None
    """As the user wrote it; `dt.evaluate` has none."""

    def load(self, batches: Batches, numbers: list[int]) -> Any:
        """Load batches by their numbers.

        Args:
            batches: the batches of the dataset.
            numbers: which of them.
        """
        return dataset.loader(self.dataset, batches, numbers, self.collate_fn, self.num_workers)


def agreed(ranks: Ranks, arguments: InferenceArguments, also: Callable[[], Any] = lambda: None) -> Batches:
    """Check the arguments on all ranks, and give them the buffers of rank 0; a collective.

    Args:
        ranks: this rank among the others.
        arguments: arguments of the call.
        also: an additional check.

    Returns:
        The batches of the dataset.

    Raises:
        BadRequest: An argument is invalid, or the ranks' datasets differ.
        PeerFailed: The same on another rank.
    """

    def check() -> tuple[int, int, str | None]:
        models.check(ranks.call, arguments.model)
        if arguments.collate_fn is not None and not callable(arguments.collate_fn):
            raise BadRequest(
                f"{ranks.call}: collate_fn is {arguments.collate_fn!r}; it must be a function.",
                "It builds a batch from a list of samples; leave it out to use torch's default.",
            )
        samples = dataset.length(ranks.call, arguments.dataset)
        size = usual_batch_size(samples) if arguments.batch_size is None else arguments.batch_size
        _whole(ranks.call, "batch_size", size, 1)
        _whole(ranks.call, "num_workers", arguments.num_workers, 0)
        also()
        return samples, size, arguments.output

    answers = ranks.everyone(check)
    whole = f"Call {ranks.call} with the whole dataset on every rank: it shares the samples itself."
    same_size = "Give every rank the same batch_size: with it the ranks divide the samples among themselves."
    one_file = "Give every rank the same output: rank 0 writes one file of all results."
    compared = (("The dataset's length", whole), ("batch_size", same_size), ("output", one_file))
    for index, (argument, hint) in enumerate(compared):
        for rank, answer in enumerate(answers):
            if answer[index] != answers[0][index]:
                raise BadRequest(
                    f"{argument} is {answers[0][index]} on rank 0 and {answer[index]} on rank {rank}.",
                    hint,
                    code="ranks_differ",
                )
    models.send_buffers(ranks, arguments.model)
    return Batches(*answers[0][:2])


def _whole(call: str, name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise BadRequest(f"{call}: {name} is {value!r}; it must be a whole number of {least} or more.")
