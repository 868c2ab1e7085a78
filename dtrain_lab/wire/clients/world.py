"""Requests about a world: leases, its state, its ranks and its end."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct

from dtrain_lab.wire.clients.base import Body
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.kinds import LeaseKind
from dtrain_lab.wire.metrics.forecast import Forecast
from dtrain_lab.wire.metrics.verdicts import Advice
from dtrain_lab.wire.node_check import MeasuredSpeed
from dtrain_lab.wire.plan import Plan, Request


class Lease(Struct, frozen=True):
    """A process that keeps a world alive, identified by pid and start time.

    `system`: the host boot and PID namespace in which `pid` is valid (`machine.processes.system`).
    """

    kind: LeaseKind
    host: str
    pid: int
    started: float
    notebook: str | None = None
    system: str = ""


class Launch(Body, frozen=True, tag="launch"):
    """Start a world in this head, which has no ranks yet.

    `server`, `server_started`: the client's Jupyter server, as in `HeadRecord`. `detached`: the world does
    not end with a lease.
    """

    result: ClassVar[Any] = Cluster
    plan: Plan
    request: Request
    name: str
    owner: str
    server: int | None = None
    detached: bool = False
    server_started: float = 0.0


class AcquireLease(Body, frozen=True, tag="hold"):
    """Take a lease; `attach` also makes the lease's notebook one of the cluster's.

    `detach`: that notebook has chosen another cluster; the lease stays.
    `warm`: only while the head has no world: another client may have claimed it meanwhile.
    """

    result: ClassVar[Any] = Cluster
    repeatable: ClassVar[bool] = True
    lease: Lease
    attach: bool = False
    warm: bool = False
    detach: bool = False


class Release(Body, frozen=True, tag="release"):
    """Release a lease; the last one ends the world, unless it runs on other machines."""

    lease: Lease


class Info(Body, frozen=True, tag="info"):
    """Ask for the cluster."""

    result: ClassVar[Any] = Cluster
    repeatable: ClassVar[bool] = True


class Clock(Body, frozen=True, tag="clock"):
    """Ask for the time by the head's clock, in seconds since 1970."""

    result: ClassVar[Any] = float
    repeatable: ClassVar[bool] = True


class Watch(Body, frozen=True, tag="watch"):
    """Subscribe to `Changed`, at most one every `period_s` seconds; 0 unsubscribes.

    The subscription expires unless it is renewed within 10 s. `end_only`: only states in which the world ends
    are sent, which say why.
    """

    repeatable: ClassVar[bool] = True
    period_s: float
    end_only: bool = False


class Advise(Body, frozen=True, tag="advise"):
    """Ask for advice on the training loop that runs, or ran last."""

    result: ClassVar[Any] = tuple[Advice, ...]
    repeatable: ClassVar[bool] = True


class ForecastNodes(Body, frozen=True, tag="forecast_nodes"):
    """Predict the loop that trains, or trained last, on `nodes` with `ranks` in all.

    `speed`: measured between two of those nodes; `speed_now`: between two of the nodes on which it trains.
    None if unknown.
    """

    result: ClassVar[Any] = Forecast
    repeatable: ClassVar[bool] = True
    nodes: int
    ranks: int
    speed: MeasuredSpeed | None = None
    speed_now: MeasuredSpeed | None = None


class Interrupt(Body, frozen=True, tag="interrupt"):
    """Interrupt running cells; variables are kept."""

    result: ClassVar[Any] = Cluster
    ranks: tuple[int, ...] | None = None
    cell: str | None = None


class Restart(Body, frozen=True, tag="restart"):
    """Replace the processes of these ranks; answered once the world is ready again."""

    result: ClassVar[Any] = Cluster
    ranks: tuple[int, ...] | None = None


class Resize(Body, frozen=True, tag="resize"):
    """Change the number of ranks; answered once the world is ready again."""

    result: ClassVar[Any] = Cluster
    plan: Plan


class Stop(Body, frozen=True, tag="stop"):
    """End the world.

    `heir`: socket at which the agent of the next head takes over the fork server; empty: it ends, too.
    `by`: who asks; None from an earlier version.
    """

    repeatable: ClassVar[bool] = True
    heir: str = ""
    by: Ending | None = None


class Engines(Body, frozen=True, tag="engines"):
    """Ask for ipyparallel's client connection file, with `BEGUN` added.

    The first such request starts the controller. Answered once all ranks have registered with it.
    """

    result: ClassVar[Any] = str
    repeatable: ClassVar[bool] = True


BEGUN = "begun"
"""Key with the number of controller starts: a client of an earlier controller gets no answers."""
