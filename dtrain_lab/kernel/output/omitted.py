"""The notice in a kernel's output that lines were omitted, with the number of lines of each rank."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from dtrain_lab.text.rank_names import compact

_LABEL = re.compile(r"^\[([0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*)\]", re.MULTILINE)


def labels(text: str) -> Counter[str]:
    """Return how many lines begin with the label of each set of ranks, such as "0,2-3"."""
    return Counter(_LABEL.findall(text))


def left_out(lines: int, of_ranks: Counter[str]) -> str:
    """Return the notice that lines were omitted; which the page parses (`src/output/lines/trim.ts`).

    Args:
        lines: Number of lines.
        of_ranks: How many of them begin with each label. Lines of several ranks count for each of them.
    """
    counts = _of_each(lines, of_ranks)
    more = f" ({counts})" if counts else ""
    return f"… {lines} lines are left out here: they came faster than the Jupyter server passes on{more}.\n"


def _of_each(lines: int, of_ranks: Counter[str]) -> str:
    of_rank: Counter[int] = Counter()
    for label, count in of_ranks.items():
        for span in label.split(","):
            first, _, last = span.partition("-")
            for rank in range(int(first), int(last or first) + 1):
                of_rank[rank] += count
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for rank, count in sorted(of_rank.items()):
        alike[count].append(rank)
    parts = [
        f"{count} of rank {ranks[0]}" if len(ranks) == 1 else f"{count} each of ranks {compact(ranks)}"
        for count, ranks in alike.items()
    ]
    rest = lines - of_ranks.total()
    return ", ".join([*parts, f"{rest} unlabelled"] if parts and rest > 0 else parts)
