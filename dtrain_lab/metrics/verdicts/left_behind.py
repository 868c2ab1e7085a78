"""The verdict on live objects that have no connection to a rebuilt group."""

from __future__ import annotations

from collections.abc import Mapping

from dtrain_lab.text import rank_names
from dtrain_lab.wire.metrics.verdicts import Verdict


def left_behind(objects: Mapping[int, tuple[str, ...]]) -> Verdict:
    """Verdict on live objects that could not be connected to the rebuilt group.

    Args:
        objects: names of the objects by rank.
    """
    names = sorted({name for left in objects.values() for name in left})
    ranks = tuple(sorted(objects))
    verb = "has" if len(names) == 1 else "have"
    text = f"{'; '.join(names)} {verb} no connection to the new group on {rank_names.name(ranks)}."
    return Verdict(
        id="left_behind",
        kind="unknown",
        code="left_behind",
        values={"names": names, "ranks": rank_names.compact(ranks)},
        text=text[0].upper() + text[1:],
        ranks=ranks,
        hint="Create them again: run their cells.",
    )
