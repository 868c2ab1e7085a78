"""`dt.main_first`, `dt.once_per_node`, `dt.rank_dir`: downloads and files without races between ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dtrain_lab.errors import FirstRankFailed
from dtrain_lab.training import ranks


@contextmanager
def main_first() -> Iterator[None]:
    """Run a block on rank 0 first, then on the others, which find what rank 0 has made; a collective.

    Raises:
        FirstRankFailed: on the other ranks, where rank 0 raised in the block.
    """
    with _first_then_others("dt.main_first", first=ranks.rank() == 0):
        yield


@contextmanager
def once_per_node() -> Iterator[None]:
    """Run a block on local rank 0 of each node first, then on the node's other ranks; a collective.

    For data on a node's own disk: one download per node, and the others find it.

    Raises:
        FirstRankFailed: on the ranks that wait, where a local rank 0 raised in the block.
    """
    with _first_then_others("dt.once_per_node", first=ranks.local_rank() == 0):
        yield


@contextmanager
def _first_then_others(name: str, *, first: bool) -> Iterator[None]:
    if not ranks.grouped():
        yield
        return
    if first:
        try:
            yield
        except BaseException as error:  # also an interrupt: the others wait
            ranks.gather(f"{type(error).__name__}: {error}")
            raise
        problems = ranks.gather("")
    else:
        problems = ranks.gather("")
    for number, problem in enumerate(problems):
        if problem:
            raise FirstRankFailed(
                f"{name}: rank {number}, for which this rank waited, raised {problem.rstrip('.')}.",
                f"Fix the error of rank {number} in the block: its traceback names the line.",
            )
    if not first:
        yield


class Folder(type(Path())):  # type: ignore[misc] # Path itself can't be subclassed before Python 3.12
    """A path that also opens a `with` block."""

    def __enter__(self) -> Path:
        return Path(self)

    def __exit__(self, *_: object) -> None:
        return None


def rank_dir() -> Path:
    """Folder of this rank alone, `ranks/rank-N` in the working directory; made if it doesn't exist.

    For data and logs that ranks would overwrite for each other. `with dt.rank_dir() as folder:` works, too.

    Returns:
        An absolute path.
    """
    folder = Path("ranks", f"rank-{ranks.rank()}").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return Folder(folder)
