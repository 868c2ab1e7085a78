"""Members of a world: a persistent sequence of ranks in which changing one rank is cheap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

from msgspec import Struct
from msgspec.structs import replace

PAGE = 64
"""Ranks per page, about the square root of the largest world size: a change copies one page and the list
of pages."""


class Member(Struct, frozen=True):
    """One rank.

    `joined`: connected to the link. `generation`: of the rank's process group, -1 if it has none. `cell`: the
    running cell; `last`: the last cell that ran. `raised` and `sequence` (collectives issued) belong to that
    last cell. `interrupted`: the cell was asked to end, by the interrupt of this number. `aborted`: only its
    collectives were aborted, because a peer raised; it may still compute. `deaf`: the rank does not answer an
    interrupt, and its cell ended without it.
    """

    rank: int
    pid: int | None = None
    joined: bool = False
    generation: int = -1
    cell: str | None = None
    last: str | None = None
    interrupted: bool = False
    interrupt: int = 0
    aborted: bool = False
    raised: bool = False
    sequence: int | None = None
    lost: bool = False
    expected_exit: bool = False
    deaf: bool = False

    @property
    def new(self) -> bool:
        """Whether the rank's process is new and has not been in a group."""
        return self.generation < 0


class Members(Sequence[Member]):
    """An immutable sequence of members in rank order; a change returns a copy that shares unchanged pages.

    Every reply of every rank changes one member, and copying a tuple of 4,096 took longer than the rest of
    handling the reply.
    """

    __slots__ = ("_pages",)

    def __init__(self, members: Iterable[Member] = ()) -> None:
        every = tuple(members)
        self._pages = tuple(every[at : at + PAGE] for at in range(0, len(every), PAGE))

    def changed(self, rank: int, **changes: object) -> Members:
        """Return a copy with one member's fields changed.

        Args:
            rank: Number of the rank.
            **changes: New values of fields of its `Member`.
        """
        number, at = divmod(rank, PAGE)
        page = self._pages[number]
        page = (*page[:at], replace(page[at], **changes), *page[at + 1 :])
        other = Members()
        other._pages = (*self._pages[:number], page, *self._pages[number + 1 :])
        return other

    @overload
    def __getitem__(self, index: int) -> Member: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Member, ...]: ...
    def __getitem__(self, index: int | slice) -> Member | tuple[Member, ...]:
        """Return one member by rank, or a tuple of members for a slice."""
        if isinstance(index, slice):
            return tuple(self)[index]
        number, at = divmod(range(len(self))[index], PAGE)
        return self._pages[number][at]

    def __len__(self) -> int:
        """Return the world size."""
        return (len(self._pages) - 1) * PAGE + len(self._pages[-1]) if self._pages else 0

    def __iter__(self) -> Iterator[Member]:
        """Iterate from rank 0."""
        return chain.from_iterable(self._pages)

    def __reversed__(self) -> Iterator[Member]:
        """Iterate from the last rank."""
        return chain.from_iterable(map(reversed, reversed(self._pages)))

    def __eq__(self, other: object) -> bool:
        """Compare member by member."""
        return isinstance(other, Members) and self._pages == other._pages

    def __hash__(self) -> int:
        """Hash of the members."""
        return hash(self._pages)
