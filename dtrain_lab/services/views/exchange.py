"""Transfer of values between this process and ranks (push, pull, diff), and between ranks (copy)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dtrain_lab.cells import diff as differences
from dtrain_lab.errors import BadRequest
from dtrain_lab.text import rank_names
from dtrain_lab.text.units import size_text


class Diff:
    """Comparison of one variable between ranks.

    Attributes:
        name: Name of the variable.
        ranks: Ranks that were compared.
        equal: Whether the variable is the same on all ranks, as far as it can be compared.
        first: The first part that differs, in the variable's own order, running statistics of BatchNorm last;
            None if all are equal.
        differing, total: Number of parts that differ, and of all parts.
        max_abs: For each group of `first.others`, the largest absolute difference from `first.same`; None
            unless both are numeric and have the same shape.
    """

    def __init__(
        self,
        name: str,
        ranks: Sequence[int],
        comparison: differences.Comparison,
        max_abs: Sequence[float | None],
    ) -> None:
        self.name = name
        self.ranks = tuple(ranks)
        self.first = comparison.first
        self.differing = comparison.differing
        self.total = comparison.total
        self._comparable = comparison.total > len(comparison.opaque)
        self.max_abs = tuple(max_abs)
        far = ["" if m is None else f"at most {m:.3g} apart" for m in max_abs]
        self.text = differences.sentence(name, self.ranks, comparison, far)

    @property
    def equal(self) -> bool:
        """Whether the variable is the same on all ranks; False if none of it can be compared."""
        return self.first is None and (self._comparable or not self.total)

    def __bool__(self) -> bool:
        """Whether a difference was found."""
        return self.first is not None

    def __repr__(self) -> str:
        return self.text


def push(view: Any, values: dict[str, Any], progress: Callable[[int, int], None] | None) -> int:
    """Assign values on the ranks of a view; returns the total size of arrays and tensors in bytes.

    Args:
        view: A view of the ranks.
        values: Name → value.
        progress: Called with the bytes sent and the total bytes.

    Raises:
        BadRequest: A value can't be serialized.
    """
    from dtrain_lab.rank.data import transfer, variables

    try:
        packed = transfer.pack(values, progress=progress)
    # pickling may raise an exception of any type
    except Exception as error:
        names = ", ".join(values)
        raise BadRequest(
            f"{names} can't be pushed: {type(error).__name__}: {_first_line(error)}",
            "Push its parts, such as plain values or tensors.",
        ) from error
    try:
        labels = "pushed", ", ".join(values)
        away = _elsewhere(view, _apply(view, *labels, variables.receive, packed))
        if away:
            _carry(view, labels, variables.receive, packed, transfer.numbers(packed), away)
    finally:
        transfer.release(packed.token)
    return packed.size


def pull(view: Any, name: str) -> list[Any]:
    """Return a variable's value on each rank of a view.

    Args:
        view: A view of the ranks.
        name: Name of the variable.

    Raises:
        BadRequest: The name is invalid, a rank has no such variable, or its value can't be serialized.
    """
    from dtrain_lab.rank.data import transfer, variables

    _check_name(name)
    packed = _apply(view, "pulled", name, variables.give, name)
    data = [
        None if transfer.is_here(value) else _on(view, [rank], "pulled", name, transfer.fetch, value.token)[0]
        for rank, value in zip(_targets(view), packed, strict=True)
    ]
    try:
        return [transfer.unpack(value, numbers) for value, numbers in zip(packed, data, strict=True)]
    # unpickling may raise an exception of any type, for example if a class of the rank is missing here
    except Exception as error:
        raise BadRequest(
            f"{name} can't be rebuilt here: {type(error).__name__}: {_first_line(error)}",
            "Import or define its class in this notebook, or pull its parts.",
        ) from error
    finally:
        tokens = [value.token for value in packed if value.token]
        if tokens:
            view.apply_sync(transfer.release_all, tokens)


def compare(view: Any, name: str) -> Diff:
    """Compare a variable between the ranks of a view.

    Args:
        view: A view of the ranks.
        name: Name of the variable.

    Raises:
        BadRequest: The name is invalid, or a rank has no such variable.
    """
    from dtrain_lab.rank.data import fingerprint

    _check_name(name)
    ranks = list(view.targets)
    leaves_of = dict(zip(ranks, _apply(view, "compared", name, fingerprint.leaves, name), strict=True))
    # printing objects calls the user's code, so only those are printed on which the comparison depends
    if paths := differences.undecided(leaves_of):
        texts = _apply(view, "compared", name, fingerprint.appearances, name, paths)
        printed = dict(zip(ranks, texts, strict=True))
        leaves_of = {
            rank: differences.with_appearance(leaves, printed[rank]) for rank, leaves in leaves_of.items()
        }
    comparison = differences.compare(leaves_of)
    first = comparison.first
    if first is None:
        return Diff(name, ranks, comparison, [])
    if not first.comparable:
        return Diff(name, ranks, comparison, [None] * len(first.others))
    groups = (first.same, *first.others)
    one_of_each = [group[0] for group in groups]
    with view.temp_flags(targets=one_of_each):
        values = _apply(view, "compared", name, fingerprint.leaf_value, name, first.path)
    return Diff(name, ranks, comparison, [_apart(values[0], other) for other in values[1:]])


def copy_variables(source: Any, targets: Any) -> tuple[list[str], dict[str, str], int]:
    """Copy the variables of one rank to others.

    Args:
        source, targets: Views of the ranks.

    Returns:
        The copied names, the reason for each name that was not copied, and the total size of arrays and
        tensors in bytes.
    """
    from dtrain_lab.rank.data import transfer, variables

    packed, names, left = _apply(source, "copied", "The variables", variables.give_all)[0]
    labels = "copied", "The variables"
    _apply(targets, *labels, variables.use_paths, *_apply(source, *labels, variables.paths)[0])
    try:
        away = _elsewhere(targets, _apply(targets, *labels, variables.receive_all, packed))
        if away:
            numbers = _apply(source, *labels, transfer.fetch, packed.token)[0] if packed.token else b""
            _carry(targets, labels, variables.receive_all, packed, numbers, away)
    finally:
        source.apply_sync(transfer.release_all, [packed.token])
    return names, left, packed.size


def _targets(view: Any) -> list[int]:
    return [view.targets] if isinstance(view.targets, int) else list(view.targets)


def _elsewhere(view: Any, hosts: Sequence[str]) -> dict[str, list[int]]:
    """Return the ranks that could not map a value, by host."""
    away: dict[str, list[int]] = {}
    for rank, host in zip(_targets(view), hosts, strict=True):
        if host:
            away.setdefault(host, []).append(rank)
    return away


def _carry(
    view: Any,
    labels: tuple[str, str],
    receive: Callable[..., str],
    packed: Any,
    numbers: Any,
    away: dict[str, list[int]],
) -> None:
    """Send a value to other machines, once per machine, whose ranks then map it from shared memory."""
    from dtrain_lab.rank.data import transfer

    for ranks in away.values():
        there = _on(view, ranks[:1], *labels, transfer.carry, packed, numbers)[0]
        try:
            _on(view, ranks, *labels, receive, there)
        finally:
            _on(view, ranks[:1], *labels, transfer.release, there.token)


def _on(view: Any, ranks: list[int], verb: str, name: str, function: Any, *args: Any) -> list[Any]:
    with view.temp_flags(targets=ranks):
        return _apply(view, verb, name, function, *args)


def _apart(expected: Any, other: Any) -> float:
    return float(abs(expected - other).max()) if expected.size else 0.0


def _apply(view: Any, verb: str, name: str, function: Any, *args: Any) -> list[Any]:
    """Call `apply` on ranks, and turn their errors into one sentence."""
    import ipyparallel as ipp

    try:
        results: list[Any] = view.apply_sync(function, *args)
    except (ipp.RemoteError, ipp.CompositeError) as error:
        raise _refused(verb, name, error, _targets(view)) from error
    return results


def _refused(verb: str, name: str, error: Any, asked: Sequence[int]) -> BadRequest:
    each = getattr(error, "elist", None) or []
    first = each[0] if each else None
    kind, message = (
        (first[0], first[1]) if first else (getattr(error, "ename", ""), getattr(error, "evalue", ""))
    )
    reason = f"{kind}: {message}".strip(": .") or type(error).__name__
    failed = {info["engine_id"] for *_, info in each if info and "engine_id" in info}
    others = [rank for rank in asked if rank not in failed]
    if not failed or not others:
        return BadRequest(f"{name} could not be {verb}: {reason}.", "Check the name.")
    where = rank_names.name(failed)
    return BadRequest(
        f"{name} could not be {verb}: {reason} (on {where}).", f"It worked on {rank_names.name(others)}."
    )


def _check_name(name: str) -> None:
    if not all(part.isidentifier() for part in name.split(".")):
        raise BadRequest(
            f'"{name}" is not the name of a variable.', "Give a name such as loss or model.fc.weight."
        )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else ""


def copied_sentence(
    ranks: Sequence[int], source: int, names: list[str], left: dict[str, str], size: int
) -> str:
    """Return a sentence that says what a restart with another rank's variables did.

    Args:
        ranks: Ranks that were restarted.
        source: Rank whose variables they have.
        names: Variables that were copied.
        left: Variables that were not copied → reason.
        size: Size of the copied values in bytes.
    """
    single = len(ranks) == 1
    count = "1 variable" if len(names) == 1 else f"{len(names)} variables"
    text = (
        f"{rank_names.sentence_name(ranks)} {'has a new process' if single else 'have new processes'}, "
        f"with {count} of rank {source} ({size_text(size)})."
    )
    if left:
        kinds = ", ".join(f"{name} ({reason})" for name, reason in sorted(left.items()))
        text += f" Not copied: {kinds}."
    return text
