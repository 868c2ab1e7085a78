"""Adds the code change (a diff of the user's cell) to advice."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from dtrain_lab.metrics.advice.code_change import calls_functions_of, changed, ddp_name, imports_lab
from dtrain_lab.metrics.advice.loop_accumulation import accumulate
from dtrain_lab.wire import clients
from dtrain_lab.wire.metrics.verdicts import Advice
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.stacks import Where


class AdviceDiffs:
    """Computes each diff once, as long as no other cell runs."""

    def __init__(self) -> None:
        self._cells: tuple[str, str] = "", ""
        """Cells that ran last, and that trained last, when the diffs were computed."""
        self._cache: dict[tuple[str, object], tuple[str, dict[str, str]]] = {}
        """Id and variant of advice → its diff, and whose it is."""

    def given(
        self,
        advice: Sequence[Advice],
        orders: Sequence[clients.Run],
        code: str = "",
        where: Where | None = None,
    ) -> tuple[Advice, ...]:
        """Return advice with the diff of the cell that the change applies to.

        That is the cell that trained, or one that ran before it: measurements of training say nothing of
        cells that ran only afterwards. The advice's `values` name the cell, where it is a notebook's:
        `notebook`, `cell_id` and `cell`, its number.

        Args:
            advice: Advice without a diff.
            orders: Run requests of known cells, oldest first.
            code: Code of the cell that trained last; empty if it is not known.
            where: That cell.
        """
        if not orders:
            return tuple(advice)
        trained = _trained(orders, code, where)
        cells = orders[-1].cell, trained.cell if trained is not None else ""
        if self._cells != cells:
            self._cells = cells
            self._cache.clear()
        return tuple(self._with_change(a, orders, trained) for a in advice)

    def shown(self, metrics: Metrics, orders: Sequence[clients.Run], code: str = "") -> Metrics:
        """Return the metrics with the diffs added to their advice.

        Args:
            metrics: Metrics of the world.
            orders: Run requests of known cells, oldest first.
            code: Code of the cell that trained last.
        """
        if not metrics.advice:
            return metrics
        return replace(metrics, advice=self.given(metrics.advice, orders, code, metrics.loop))

    def _with_change(
        self, advice: Advice, orders: Sequence[clients.Run], trained: clients.Run | None
    ) -> Advice:
        key = advice.id, advice.values.get("variant")
        if key not in self._cache:
            self._cache[key] = _change_in_cells(advice, orders, trained)
        diff, place = self._cache[key]
        advice = replace(advice, diff=diff, values={**advice.values, **place})
        if place.get("way") == "loop":
            gain, error = advice.values["in_loop"]
            return replace(advice, gain=gain, gain_error=error)
        return advice


def _change_in_cells(
    advice: Advice, orders: Sequence[clients.Run], trained: clients.Run | None
) -> tuple[str, dict[str, str]]:
    """The change in the last cell that it applies to; for accumulation, else one of the loop itself."""
    ran, orders = orders, _as_they_are_now(orders)
    if trained is not None:
        orders = _in_training(orders, ran, trained)
    model = next((name for o in reversed(orders) if (name := ddp_name(o.code))), None)
    for order in reversed(orders):
        imported = _is_imported(order, ran, orders)
        if diff := changed(order.code, advice.id, advice.values, model, imported=imported):
            return diff, _place(order)
    countable = not advice.values.get("stream")  # the loop's last group needs the number of batches
    if advice.id == "accumulate" and advice.values["before"] == 1 and countable:
        for order in reversed(orders):
            if diff := accumulate(order.code, model, advice.values["every"]):
                return diff, {**_place(order), "way": "loop"}
    return "", {}


def _trained(orders: Sequence[clients.Run], code: str, where: Where | None) -> clients.Run | None:
    """The last run of the cell that trained; None if it is not known."""
    if not code or where is None:
        return None
    place = code, where.notebook, where.cell
    return next((o for o in reversed(orders) if (o.code, o.notebook, o.label) == place), None)


def _in_training(
    orders: Sequence[clients.Run], ran: Sequence[clients.Run], trained: clients.Run
) -> list[clients.Run]:
    """The cells that training can have used, the most likely ones last: the cell that trained, those whose
    functions it calls, and others that ran before it."""
    before = {_key(order) for order in ran[: ran.index(trained)]}
    own = _key(trained)

    def likely(order: clients.Run) -> int:
        return 2 if _key(order) == own else int(calls_functions_of(trained.code, order.code))

    return sorted((o for o in orders if _key(o) in before or _key(o) == own), key=likely)


def _as_they_are_now(orders: Sequence[clients.Run]) -> list[clients.Run]:
    """The last run of each cell, oldest first: earlier runs may have had other code."""
    last: dict[tuple[str | None, str], clients.Run] = {}
    for order in orders:
        last.pop(_key(order), None)
        last[_key(order)] = order
    return list(last.values())


def _is_imported(order: clients.Run, ran: Sequence[clients.Run], now: Sequence[clients.Run]) -> bool:
    """Whether a cell that first ran before this one, on its ranks, has the import that the change needs."""
    first = [_key(o) for o in ran]
    earlier = first[: first.index(_key(order))]
    return any(
        o.notebook == order.notebook
        and _key(o) in earlier
        and (o.ranks is None or set(o.ranks) >= set(order.ranks or ()) != set())
        and imports_lab(o.code)
        for o in now
    )


def _key(order: clients.Run) -> tuple[str | None, str]:
    return order.notebook, order.cell_id or order.cell


def _place(order: clients.Run) -> dict[str, str]:
    cell = order.label if order.notebook and order.kind == "cell" else None
    named = {"notebook": order.notebook, "cell_id": order.cell_id, "cell": cell}
    return {name: value for name, value in named.items() if value is not None}
