"""Profile: a named place to run, with back-end, size, environment and network."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from dtrain_lab.wire.kinds import Accelerator, EnvironmentKind, Framework, HangAction, SlurmLauncher

Allocation = Annotated[
    str,
    Meta(pattern=r"^(new|current|\d+([_+]\d+)?)$", description='"new", "current" or the number of a job'),
]


class Environment(Struct, frozen=True, forbid_unknown_fields=True):
    """The Python environment on the nodes. `secrets`: variable → file on the nodes that holds its value."""

    kind: EnvironmentKind = "current"
    path: str | None = None
    setup: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    secrets: dict[str, str] = {}


class Network(Struct, frozen=True, forbid_unknown_fields=True):
    """Which interface and which ports our sockets and the collectives use.

    `rank_table`: HCCL's file of devices and addresses, for Ascend drivers that need one.
    """

    interface: str | None = None
    ports: str | None = None
    rank_table: str | None = None


class Ssh(Struct, frozen=True, forbid_unknown_fields=True):
    """Hosts of the back-end `ssh`, or the login node of `slurm`."""

    hosts: tuple[str, ...] = ()
    login: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All hosts to which connections are opened."""
        return (*self.hosts, self.login) if self.login else self.hosts


class Slurm(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a request to Slurm.

    `allocation`: the one that clusters run in: a new one, that of this process, or that of a job.
    """

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    gres: str | None = None
    memory_per_cpu: str | None = None
    time: str | None = None
    launcher: SlurmLauncher | None = None
    allocation: Allocation | None = None
    options: tuple[str, ...] = ()


class Watch(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the monitor.

    `probe`: run an occasional step without overlap. `guard`: ranks compare each collective before it runs.
    `stuck_after_s`: seconds after which a collective counts as hung; `on_hang`: what happens then.
    """

    probe: bool = True
    guard: bool = False
    stuck_after_s: float = 10.0
    on_hang: HangAction = "show"


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """A named place to run. `name` is the name of its file, not a key in it.

    `framework`: what its jobs train with, torch by default. `accelerator`: kind of its nodes' devices.
    `section`: table of a back-end of another package, which is named like the back-end in the file; the
    back-end has its type (`Backend.section`).
    """

    backend: str = "local"
    nodes: int | None = None
    ranks_per_node: int | None = None
    cpus_per_rank: int | None = None
    memory_per_node: str | None = None
    workdir: str | None = None
    scratch: str | None = None
    monitor: bool = True
    framework: Framework | None = None
    accelerator: Accelerator = "gpu"
    environment: Environment = Environment()
    network: Network = Network()
    ssh: Ssh = Ssh()
    slurm: Slurm = Slurm()
    watch: Watch = Watch()
    section: dict[str, Any] = {}
    name: str = "local"
