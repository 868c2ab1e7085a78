"""How the ranks of a job find each other, for frameworks other than torch."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.kinds import Framework, Role, Strategy


class FrameworkPlan(Struct, frozen=True):
    """The part of a job's plan that depends on its framework; its agents read it from their environment.

    `strategy`: TensorFlow's, None if the notebook names none. `roles`: role of each rank; empty for
    MindSpore, whose ranks are all alike, and for strategies whose processes train alone.
    """

    name: Framework
    strategy: Strategy | None = None
    roles: tuple[Role, ...] = ()

    def serves(self, rank: int) -> bool:
        """Whether a rank only serves the chief: it never ends by itself, and is ended after the chief."""
        return self.strategy == "parameter_server" and self.roles[rank] in ("worker", "ps")
