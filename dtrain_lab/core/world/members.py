"""The ranks of a world as one value, of which another is made at little cost when one rank changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

from msgspec import Struct
from msgspec.structs import replace

PAGE = 64
"""About the square root of the largest worlds: a change copies one page and the list of pages."""


class Member(Struct, frozen=True):
    """One rank.

    `joined`: on the link. `generation`: of the group it is in, -1 for none. `cell`: it runs; `last`: it ran
    last. `raised` and `sequence` (collectives it has issued) are of that last cell. `deaf`: it does not
    answer an interrupt; its cell has ended without it.
    """

    rank: int
    pid: int | None = None
    joined: bool = False
    generation: int = -1
    cell: str | None = None
    last: str | None = None
    interrupted: bool = False
    raised: bool = False
    sequence: int | None = None
    lost: bool = False
    expected_exit: bool = False
    deaf: bool = False

    @property
    def new(self) -> bool:
        """Not in any group yet: its process is fresh."""
        return self.generation < 0


class Members(Sequence[Member]):
    """Members in the order of their ranks. A change leaves this value as it is and shares what stays.

    Each reply of each rank changes one member: a tuple of 4,096 took longer to copy than the rest of a reply.
    """

    __slots__ = ("_pages",)

    def __init__(self, members: Iterable[Member] = ()) -> None:
        every = tuple(members)
        self._pages = tuple(every[at : at + PAGE] for at in range(0, len(every), PAGE))

    def changed(self, rank: int, **changes: object) -> Members:
        """The same members with one changed."""
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
        """One by its rank, or a tuple of some."""
        if isinstance(index, slice):
            return tuple(self)[index]
        number, at = divmod(range(len(self))[index], PAGE)
        return self._pages[number][at]

    def __len__(self) -> int:
        """World size."""
        return (len(self._pages) - 1) * PAGE + len(self._pages[-1]) if self._pages else 0

    def __iter__(self) -> Iterator[Member]:
        """From rank 0."""
        return chain.from_iterable(self._pages)

    def __reversed__(self) -> Iterator[Member]:
        """From the last rank."""
        return chain.from_iterable(map(reversed, reversed(self._pages)))

    def __eq__(self, other: object) -> bool:
        """Two worlds are the same where their members are."""
        return isinstance(other, Members) and self._pages == other._pages

    def __hash__(self) -> int:
        """Of the members."""
        return hash(self._pages)
