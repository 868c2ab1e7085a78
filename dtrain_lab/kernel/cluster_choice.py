"""What the magics say about which cluster they are for: the notebook's own, another notebook's, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NamedTuple

from dtrain_lab.errors import NotFound
from dtrain_lab.services import notebook_clusters
from dtrain_lab.text import cluster_endings, rank_names
from dtrain_lab.text.lists import listed
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.endings import Ending

START = "%distributed start"
ATTACH = "%distributed attach"


class Ended(NamedTuple):
    """The cluster that a notebook used last, and that has ended. `how`: such as "has ended"."""

    name: str
    how: str


def gone(name: str, ending: Ending | None, notebook: str | None) -> Ended:
    """Return a notebook's cluster that has ended, and how.

    Args:
        name: The cluster.
        ending: How it has ended; None if that is not known.
        notebook: Path of the notebook.
    """
    return Ended(name, cluster_endings.how(ending, notebook))


def ended(last: Ended, running: Sequence[str]) -> NotFound:
    """Return the error of a notebook whose cluster has ended: its cells don't run on another one.

    Args:
        last: The cluster that has ended.
        running: Names of the clusters that run.
    """
    sentence = (
        f"{'The earlier ' if last.name in running else ''}{last.name}, which this notebook used, {last.how}."
    )
    if not running:
        return NotFound(sentence, f"Start one: {START}")
    names = ", ".join(_beside(name, last) for name in running)
    use = f"Use one: {ATTACH} {running[0]}"
    return NotFound(f"{sentence} Running: {names}.", f"{use}; or start one: {START}")


def other_cluster_notice(last: Ended, other: str) -> str:
    """Return the line of a read-only command that shows a cluster other than the notebook's.

    Args:
        last: The notebook's cluster, which has ended.
        other: The only cluster that runs.
    """
    same = "The earlier " if last.name == other else ""
    return f"{same}{last.name}, which this notebook used, {last.how}. This is about {_beside(other, last)}:"


def about(info: Cluster, notebook: str | None) -> list[str]:
    """Return a line that names the cell that trained last, if it is another notebook's; nothing else.

    Args:
        info: The cluster.
        notebook: Path of this notebook.
    """
    at = info.metrics.loop
    if at is None or at.notebook is None or at.notebook == notebook:
        return []
    cell = f"cell {at.cell} of " if at.cell else ""
    verb = "trains" if info.metrics.current else "trained last"
    return [f"{info.name} {verb} in {cell}{_name(at.notebook)}; this is about that loop:"]


def choice(running: Sequence[Cluster], notebook: str | None, uses: Callable[[str], bool]) -> str:
    """Return the clusters that run, one a line, and how to attach to one.

    Args:
        running: The clusters.
        notebook: Path of this notebook.
        uses: Returns whether this notebook's cells run on the cluster of an id, if it is attached to that.
    """
    if not running:
        return f"No cluster is running. Start one: {START}"
    lines, others = [], []
    for info in running:
        attached = notebook in info.notebooks
        used = attached and uses(info.id)
        users = [*(["this notebook"] if used else []), *_users(info, notebook)]
        # their variables are kept there, but their cells run elsewhere; older heads still call it attached
        left = not used and (attached or notebook in info.former_notebooks)
        former = [*(["this notebook"] if left else []), *_others(info.former_notebooks, notebook)]
        by = f"used by {listed(users)}" if users else "used by no notebook"
        if former:
            earlier = f"earlier by {listed(former)}"
            by = f"{by}, and {earlier}" if users else f"used {earlier}"
        lines.append(f"{info.name}: {rank_names.count(info.world.size)}, {by}")
        others += [] if used else [info.name]
    return "\n".join([*lines, *(f"Use it in this notebook: {ATTACH} {name}" for name in others[:1])])


def several(running: Sequence[str], first: str) -> NotFound:
    """Return the error of a notebook without a cluster that would have to choose one.

    Args:
        running: The clusters, as `each` names them.
        first: Name of the first one.
    """
    return NotFound(f"Several clusters are running: {', '.join(running)}.", f"Choose one: {ATTACH} {first}")


def not_own(
    verb: str, command: str, last: Ended | None, running: Sequence[Cluster], notebook: str | None
) -> NotFound:
    """Return the error of a command that ends or changes a cluster, where this notebook has none.

    Args:
        verb: What the command does to the cluster, such as "stop".
        command: The whole command as typed, such as "restart 1 --from 0": without its arguments, it could
            do far more than was asked for.
        last: The cluster that this notebook had, if any.
        running: Clusters that run: none of them is this notebook's.
        notebook: Path of this notebook.
    """
    if not running and last is None:
        return NotFound("No cluster is running.", f"Start one: {START}")
    same = last is not None and last.name in [info.name for info in running]
    ended = f": {'its earlier ' if same else ''}{last.name} {last.how}" if last is not None else ""
    sentence = f"This notebook has no cluster{ended}."
    if not running:
        return NotFound(sentence, f"Start one: {START}")
    names = each(running, last, notebook)
    first = running[0].name
    return NotFound(
        f"{sentence} Running: {names}.",
        f"To {verb} {first}: {ATTACH} {first}, then %distributed {command}; or start one: {START}",
    )


def each(running: Sequence[Cluster], last: Ended | None, notebook: str | None) -> str:
    """Return the names of clusters, each with the other notebooks that use it.

    Args:
        running: The clusters.
        last: The cluster that this notebook had, if any, whose name may be taken again.
        notebook: Path of this notebook.
    """
    return ", ".join(
        _beside(info.name, last)
        + (f" (used by {listed(users)})" if (users := _users(info, notebook)) else "")
        for info in running
    )


def taken(info: Cluster, notebook: str | None) -> str:
    """Return the line of a cell whose notebook has no cluster, so that it runs on the only running one.

    Args:
        info: The cluster.
        notebook: Path of this notebook.
    """
    users = _users(info, notebook)
    use = "use" if len(users) > 1 else "uses"
    shared = f", which {listed(users)} {use}, too: they share its variables"
    whose = shared if users else ", which was already running"
    return f"Runs on {info.name}{whose}. For a cluster of this notebook's own: {START}"


def stopped(name: str, info: Cluster | None, notebook: str | None) -> str:
    """Return the line of a stop, with the other notebooks whose variables it has ended.

    Args:
        name: The cluster.
        info: The cluster as it was before; None if it did not answer.
        notebook: Path of this notebook.
    """
    users = _others([*info.notebooks, *info.former_notebooks], notebook) if info is not None else []
    shared = f" It was also used by {listed(users)}, whose variables there are gone, too." if users else ""
    return f"{name} is stopped.{shared}"


def left(info: Cluster, ranks: int | None) -> str:
    """Return the line of a start about the notebook's previous cluster, which keeps running.

    Args:
        info: The previous cluster.
        ranks: Number of ranks of the new one, if resizing the previous one would have been enough.
    """
    sentence = f"{info.name} ({rank_names.count(info.world.size)}) still runs, with its variables."
    attach = f"{ATTACH} {info.name}"
    resize = f" To change its size instead: {attach}, then %distributed resize {ranks}." if ranks else ""
    return f"{sentence} To stop it: {attach}, then %distributed stop.{resize}"


def switched(name: str, info: Cluster, notebook: str | None) -> str:
    """Return the line of a start in a notebook that shared another one's cluster, which keeps running.

    Args:
        name: Name of the new cluster.
        info: The previous cluster.
        notebook: Path of this notebook.
    """
    users = _users(info, notebook)
    whose = f" of {listed(users)}" if users else ", which still runs"
    return f"This notebook now uses {name}; it used {info.name}{whose}."


def _beside(name: str, last: Ended | None) -> str:
    """Name a cluster that runs; a start after the end of the notebook's own may have reused its name."""
    return f"another {name}" if last is not None and last.name == name else name


def _users(info: Cluster, notebook: str | None) -> list[str]:
    return _others(info.notebooks, notebook)


def _others(notebooks: Sequence[str], notebook: str | None) -> list[str]:
    return [_name(other) for other in notebooks if other != notebook]


def _name(notebook: str) -> str:
    """Return a notebook's name, which may not be that of its kernel's start."""
    return PurePath(notebook_clusters.path_now(notebook)).name
