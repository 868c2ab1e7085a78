"""State of a world: phase, members and losses."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.kinds import WorldPhase
from dtrain_lab.world.members import Members


class Loss(Struct, frozen=True):
    """A rank whose process ended unexpectedly."""

    rank: int
    code: int
    last: str
    cell: str | None
    how: str = ""
    fault: str = ""


class State(Struct, frozen=True):
    """A world. `dirty`: the process group can't be trusted and is re-formed once every rank is idle."""

    phase: WorldPhase = "pending"
    generation: int = 0
    members: Members = Members()
    nodes: int = 0
    ready_nodes: frozenset[int] = frozenset()
    forming: bool = False
    dirty: bool = False
    losses: tuple[Loss, ...] = ()
    interrupts: int = 0
    """Number of interrupts so far."""
    reason: tuple[str, str, str] | None = None
    """Code, message and hint of a failure."""
    ending: Ending | None = None
    """Who has stopped it, if somebody has and it is known."""

    @property
    def size(self) -> int:
        """World size."""
        return len(self.members)

    @property
    def busy(self) -> tuple[int, ...]:
        """Ranks that run a cell."""
        return tuple(m.rank for m in self.members if m.cell is not None)

    @property
    def cells(self) -> frozenset[str]:
        """Ids of the cells that run."""
        return frozenset(m.cell for m in self.members if m.cell is not None)

    @property
    def taking_part(self) -> tuple[int, ...]:
        """Ranks that take part in a running cell, including those that have finished their part."""
        cells = self.cells
        return tuple(m.rank for m in self.members if m.last in cells)

    @property
    def at_work(self) -> tuple[int, ...]:
        """Ranks that take part in a running cell; all ranks while none runs."""
        return self.taking_part if self.cells else tuple(range(self.size))

    @property
    def breaking_off(self) -> bool:
        """Whether a cell still runs although it was interrupted, or has failed on a rank."""
        return any(m.cell is not None and (m.interrupted or m.aborted) for m in self.members)

    @property
    def lost(self) -> tuple[int, ...]:
        """Ranks that ended unexpectedly and were not replaced."""
        return tuple(m.rank for m in self.members if m.lost)

    @property
    def deaf(self) -> tuple[int, ...]:
        """Ranks that do not answer an interrupt."""
        return tuple(m.rank for m in self.members if m.deaf)

    def blocked(self, ranks: Collection[int]) -> bool:
        """Whether the world's reason keeps these ranks from cells: a rank that is deaf keeps only itself."""
        if self.reason is None:
            return False
        if self.reason[0] == "deaf":
            return not set(self.deaf).isdisjoint(ranks)
        return self.phase == "degraded"

    def can_begin(self, ranks: Collection[int]) -> bool:
        """Whether a cell can begin on these ranks now, if they are free."""
        if self.forming or self.phase not in ("ready", "degraded") or self.blocked(ranks):
            return False
        return self.phase == "ready" or all(self.members[rank].joined for rank in ranks)

    def each(self, ranks: Collection[int], **changes: object) -> State:
        """Return a copy with the same fields changed on each of these ranks.

        Args:
            ranks: The ranks.
            **changes: New values of fields of each rank's `Member`.
        """
        wanted = frozenset(ranks)
        return replace(
            self, members=Members(replace(m, **changes) if m.rank in wanted else m for m in self.members)
        )

    def gone(self, rank: int, **changes: object) -> State:
        """Return a copy in which a rank has no process.

        Args:
            rank: Number of the rank.
            **changes: New values of other fields of its `Member`.
        """
        without = {"pid": None, "joined": False, "cell": None, "generation": -1}
        return self.member(rank, **without, interrupted=False, aborted=False, deaf=False, **changes)

    def member(self, rank: int, **changes: object) -> State:
        """Return a copy with one rank's fields changed.

        Args:
            rank: Number of the rank.
            **changes: New values of fields of its `Member`.
        """
        return replace(self, members=self.members.changed(rank, **changes))


def initial() -> State:
    """A world without a plan."""
    return State()
