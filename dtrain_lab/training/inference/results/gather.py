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
    for path, path_shapes in shapes.items():
        own_values = {number: output.pop(path).value for number, output in mine.items()}
        if len(path_shapes) == 1 and path_shapes[0][0] == "rows":
            values[path] = _rows(ranks, plan, own_values, path_shapes[0])
        else:
            values[path] = _listed(ranks, own_values, _per_batch(path, path_shapes))
    mine.clear()
    return built(values)


def _shapes(ranks: Ranks, mine: Mapping[int, Output]) -> dict[Path, list[Shape]]:
    """All shapes that each part has on any rank, the same dict on all ranks."""
    own_shapes: dict[Path, list[Shape]] = {}
    counts: dict[Path, int] = {}
    for output in mine.values():
        for path, part in output.items():
            rows = part.kind == "rows"
            shape = (
                (part.kind, part.value.dtype, tuple(part.value.shape[1:])) if rows else (part.kind, None, ())
            )
            counts[path] = counts.get(path, 0) + 1
            if shape not in own_shapes.setdefault(path, []):
                own_shapes[path].append(shape)
    answers = ranks.everyone(lambda: (len(mine), counts, own_shapes))
    taken = sum(batches for batches, _, _ in answers)
    merged: dict[Path, list[Shape]] = {}
    for _, _, rank_shapes in answers:
        for path, some in rank_shapes.items():
            path_shapes = merged.setdefault(path, [])
            path_shapes += [shape for shape in some if shape not in path_shapes]
    for path in sorted(merged, key=len):  # a list before its elements
        if sum(count.get(path, 0) for _, count, _ in answers) != taken:
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


def _per_batch(path: Path, shapes: list[Shape]) -> bool:
    """Whether a part is one object per batch, not one per sample."""
    kinds = {kind for kind, _, _ in shapes}
    if "whole" in kinds and len(kinds) > 1:
        raise BadRequest(
            f"The model returned {title(path)} as a list or tensor for some batches only.",
            "Let the model return the same parts for every batch.",
            code="outputs_differ",
        )
    return "whole" in kinds


def _rows(ranks: Ranks, plan: Plan, own_values: dict[int, torch.Tensor], shape: Shape) -> torch.Tensor:
    result = torch.empty((plan.batches.samples, *shape[2]), dtype=shape[1])
    for number in list(own_values):
        span = plan.batches.of(number)
        result[span.start : span.stop] = own_values.pop(number)
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
    groups: list[list[range]] = []
    size = 0
    for span in spans:
        size += len(span) * row_bytes
        if not groups or size > MESSAGE_BYTES:
            groups.append([])
            size = len(span) * row_bytes
        groups[-1].append(span)
    return groups


def _listed(ranks: Ranks, own_values: dict[int, Any], whole: bool) -> list[Any]:
    everyone: dict[int, Any] = {}
    # pickled before ranks meet: what can't be pickled is then an error on all of them
    for some in ranks.everyone(lambda: pickle.dumps(own_values) if ranks.size > 1 else own_values):
        everyone.update(pickle.loads(some) if isinstance(some, bytes) else some)
    ordered = [everyone[number] for number in sorted(everyone)]
    return ordered if whole else [value for some in ordered for value in some]
