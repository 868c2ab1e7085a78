"""From the outputs of each rank's batches to the results of all samples, on every rank, in order."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch

from dtrain_lab.errors import BadRequest
from dtrain_lab.training.inference.batch_shares import Plan
from dtrain_lab.training.inference.rank_exchange import Ranks
from dtrain_lab.training.inference.results.output_parts import Output, Path, built, title

Shape = tuple[str, torch.dtype | None, tuple[int, ...]]
"""Kind of a part; for rows also their type and the shape of one row."""
MESSAGE_BYTES = 4_000_000
"""Maximum size of results sent as one message: many small messages cost more time than copying."""


def gathered(ranks: Ranks, plan: Plan, mine: dict[int, Output]) -> Any:
    """Bring all results to every rank; a collective.

    A rank holds the results of all samples once, and until then its own a second time.

    Args:
        ranks: this rank among the others.
        plan: who has taken which batches; all of the dataset.
        mine: outputs of this rank's batches, by number; emptied.

    Returns:
        What the model returns, for all samples: tensors whose rows have one type and shape as a tensor,
        others as a list with an element a sample (of what belongs to a whole batch: a batch).

    Raises:
        BadRequest: The model returned different parts for different batches.
    """
    shapes = _shapes(ranks, mine)
    values: dict[Path, Any] = {}
    for path, found in shapes.items():
        own = {number: output.pop(path).value for number, output in mine.items()}
        if len(found) == 1 and found[0][0] == "rows":
            values[path] = _rows(ranks, plan, own, found[0])
        else:
            values[path] = _listed(ranks, own, _per_batch(path, found))
    mine.clear()
    return built(values)


def _shapes(ranks: Ranks, mine: Mapping[int, Output]) -> dict[Path, list[Shape]]:
    """All shapes that each part has on any rank, the same dict on all ranks."""
    own: dict[Path, list[Shape]] = {}
    counts: dict[Path, int] = {}
    for output in mine.values():
        for path, part in output.items():
            rows = part.kind == "rows"
            shape = (
                (part.kind, part.value.dtype, tuple(part.value.shape[1:])) if rows else (part.kind, None, ())
            )
            counts[path] = counts.get(path, 0) + 1
            if shape not in own.setdefault(path, []):
                own[path].append(shape)
    told = ranks.everyone(lambda: (len(mine), counts, own))
    taken = sum(batches for batches, _, _ in told)
    merged: dict[Path, list[Shape]] = {}
    for _, _, found in told:
        for path, some in found.items():
            known = merged.setdefault(path, [])
            known += [shape for shape in some if shape not in known]
    for path in sorted(merged, key=len):  # a list before its elements
        if sum(count.get(path, 0) for _, count, _ in told) != taken:
            if any(other[: len(path)] == path and other != path for other in merged):
                # one as long as its batch: the last batch, which is shorter, may be so by chance
                raise BadRequest(
                    "The model returned a list with one result for each sample for some batches only.",
                    "Let the model return a tuple or a dict of tensors: a list as long as its batch is taken "
                    "for the samples' results.",
                    code="outputs_differ",
                )
            raise BadRequest(
                f"The model returned {title(path)} for some batches only.",
                "Let the model return the same parts for every batch.",
                code="outputs_differ",
            )
    return merged


def _per_batch(path: Path, found: list[Shape]) -> bool:
    """Whether a part is one object per batch, not one per sample."""
    kinds = {kind for kind, _, _ in found}
    if "whole" in kinds and len(kinds) > 1:
        raise BadRequest(
            f"The model returned {title(path)} as a list or tensor for some batches only.",
            "Let the model return the same parts for every batch.",
            code="outputs_differ",
        )
    return "whole" in kinds


def _rows(ranks: Ranks, plan: Plan, own: dict[int, torch.Tensor], shape: Shape) -> torch.Tensor:
    result = torch.empty((plan.batches.samples, *shape[2]), dtype=shape[1])
    for number in list(own):
        span = plan.batches.of(number)
        result[span.start : span.stop] = own.pop(number)
    row_bytes = result.element_size() * prod(shape[2])
    ranks.broadcast_all(
        ([result[span.start : span.stop] for span in spans], rank)
        for rank in range(ranks.size)
        for spans in messages(
            [plan.batches.span(chunk) for chunk in plan.chunks[rank :: ranks.size]], row_bytes
        )
    )
    return result


def messages(spans: Sequence[range], row_bytes: int) -> list[list[range]]:
    """Spans of samples that are sent together: as many as fit into a message, and at least one.

    Args:
        spans: ranges of samples.
        row_bytes: size of the result of one sample.
    """
    found: list[list[range]] = []
    size = 0
    for span in spans:
        size += len(span) * row_bytes
        if not found or size > MESSAGE_BYTES:
            found.append([])
            size = len(span) * row_bytes
        found[-1].append(span)
    return found


def _listed(ranks: Ranks, own: dict[int, Any], whole: bool) -> list[Any]:
    everyone: dict[int, Any] = {}
    # pickled before ranks meet: what can't be pickled is then an error on all of them
    for some in ranks.everyone(lambda: pickle.dumps(own) if ranks.size > 1 else own):
        everyone.update(pickle.loads(some) if isinstance(some, bytes) else some)
    ordered = [everyone[number] for number in sorted(everyone)]
    return ordered if whole else [value for some in ordered for value in some]
