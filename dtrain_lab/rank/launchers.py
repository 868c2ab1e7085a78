"""Replaces functions that launch ranks (`mp.spawn`, `elastic_launch`, `Process`): existing ranks run them.

All launchers end in one of three functions of torch and Python: `mp.start_processes` (mp.spawn, Accelerate's
debug_launcher, ignite), torchrun's own `elastic_launch` (Accelerate's notebook_launcher), and
`Process(target=…)` whose function makes a process group. Lightning's (`ddp_notebook`, `ddp_spawn`) waits for
results from the process of rank 0, so it is replaced itself.
"""

from __future__ import annotations

import functools
import multiprocessing.process
import os
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch.distributed as dist
import torch.multiprocessing as mp

from dtrain_lab.errors import Conflict
from dtrain_lab.rank.frameworks import torch_libraries
from dtrain_lab.rank.import_hooks import after_import
from dtrain_lab.rank.init_process_group import ExistingGroup
from dtrain_lab.rank.notes import Notes
from dtrain_lab.text.units import counted

MAKES_GROUP = frozenset({"init_process_group", "init_rpc"})
DEEP = 4
"""Depth of calls to search for one that makes a process group."""
LIGHTNING = ("lightning.pytorch", "lightning.fabric", "pytorch_lightning", "lightning_fabric")
RANK_NAMES = ("rank", "global_rank", "local_rank", "proc_id", "gpu")


def install(group: ExistingGroup, notes: Notes) -> None:
    """Replace the functions of torch and multiprocessing that launch ranks.

    Args:
        group: the process group of this rank.
        notes: tells the user that no processes are started.
    """
    launchers = Launchers(group, notes)
    mp.spawn = launchers.spawn
    mp.start_processes = launchers.start_processes
    module: Any = sys.modules["torch.multiprocessing.spawn"]
    module.spawn, module.start_processes = launchers.spawn, launchers.start_processes
    after_import("torch.distributed.launcher.api", launchers.answer_elastic)
    for package in LIGHTNING:
        after_import(f"{package}.strategies.launchers.multiprocessing", launchers.answer_lightning)
    base: Any = multiprocessing.process.BaseProcess
    base.start = launchers.start(base.start)


class Launchers:
    """The replacements for launchers.

    Args:
        group: the process group of this rank.
        notes: tells the user that no processes are started.
    """

    def __init__(self, group: ExistingGroup, notes: Notes) -> None:
        self._here = group
        self._notes = notes
        self._process = os.getpid()

    # ---- torch.multiprocessing

    def spawn(self, *given: Any, **named: Any) -> Any:
        """Replace `mp.spawn`, whose arguments are those of `start_processes`."""
        return self.start_processes(*given, caller="mp.spawn", argument="nprocs", **named)

    def start_processes(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        nprocs: int = 1,
        join: bool = True,
        daemon: bool = False,
        start_method: str = "spawn",
        *,
        caller: str = "This launcher",
        argument: str = "the number of processes",
        **_: Any,
    ) -> Any:
        """Replace `mp.start_processes`, which frameworks call: run `fn` as this rank.

        Args:
            fn: Called with the index of the process and `args`.
            args: Arguments for `fn`.
            nprocs: Number of processes that the caller wants.
            join: Wait for the end; else something is returned on which the caller can wait.
            daemon: Ignored.
            start_method: Ignored.
            caller: Name of the launcher, for the error.
            argument: Name of the argument that gives the number, for the error.

        Raises:
            Conflict: `nprocs` is neither the number of ranks nor that of this node.
        """
        self._here_runs(fn, self._index(caller, argument, nprocs), *args)
        return None if join else _Ended()

    def _here_runs(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function that the launcher would have run in a new process.

        That process would have had frameworks without state, and would have taken its group with it.
        """
        self._notes.say(f"the {_ranks(self._here.size)} there already; {_name(fn)} runs in each.")
        with torch_libraries.new_process():
            result = fn(*args, **kwargs)
        if not dist.is_initialized():
            self._here.remake()
        return result

    def _index(self, caller: str, argument: str, count: int) -> int:
        """Which of `count` processes this rank is.

        Raises:
            Conflict: `count` is neither the world's size nor the number of ranks on this node.
        """
        if count == self._here.size:
            return self._here.rank
        if count == int(os.environ.get("LOCAL_WORLD_SIZE", "0")):  # the caller uses one launcher per node
            return int(os.environ["LOCAL_RANK"])
        raise self._differs(caller, argument, count)

    def _differs(self, caller: str, argument: str, count: int) -> Conflict:
        size = self._here.size
        processes = "1 process" if count == 1 else f"{count} processes"
        hint = f"Give {argument} as {size}"
        if count > 1:
            hint += f", or have {count} ranks: `%distributed resize {count}`; for a job, its number of ranks"
        return Conflict(
            f"{caller} asks for {processes}; {_ranks(size)} there already.",
            f"{hint}.",
            code="world_size_differs",
        )

    # ---- torchrun's own launcher, called as a function

    def answer_elastic(self, module: ModuleType) -> None:
        """Make `elastic_launch(config, function)(*args)` run the function as this rank."""
        launchers = self

        class ElasticLaunch:
            """Replaces torch's `elastic_launch`, whose agent would start processes."""

            def __init__(self, config: Any, entrypoint: Any) -> None:
                self.config, self.entrypoint = config, entrypoint

            def __call__(self, *args: Any) -> dict[int, Any]:
                return launchers._elastic(self.config, self.entrypoint, args)

        launcher: Any = module
        launcher.elastic_launch = ElasticLaunch

    def _elastic(self, config: Any, entrypoint: Any, args: tuple[Any, ...]) -> dict[int, Any]:
        if not callable(entrypoint):
            raise Conflict(
                f"This launcher starts {entrypoint} in new processes; the ranks are already running.",
                f"Run it in them: %run {entrypoint}",
                code="world_size_differs",
            )
        count = config.nproc_per_node * config.max_nodes
        self._index("This launcher", "the number of processes", count)
        return {self._here.rank: self._here_runs(entrypoint, *args)}

    # ---- Lightning

    def answer_lightning(self, module: ModuleType) -> None:
        """Make `ddp_notebook`, `ddp_spawn` and `ddp_fork` train as this rank, as `ddp` does."""
        launchers = self
        launcher: Any = module

        def launch(
            this: Any, function: Callable[..., Any], *args: Any, trainer: Any = None, **kwargs: Any
        ) -> Any:
            launchers._index("Lightning", "devices", this._strategy.num_processes)
            return launchers._here_runs(function, *args, **kwargs)

        launcher._MultiProcessingLauncher.launch = launch

    # ---- Process(target=…)

    def start(self, usual: Callable[[Any], None]) -> Callable[[Any], None]:
        """Replace `Process.start`: a process that would be a rank runs in the rank of its number instead.

        Args:
            usual: the original `Process.start`.

        Returns:
            The replacement, which raises `Conflict` where no running rank has the process's number.
        """

        @functools.wraps(usual)
        def start(process: Any) -> None:
            target = getattr(process, "_target", None)
            if os.getpid() != self._process or not _makes_group(target or type(process).run):
                usual(process)
                return
            rank = _rank_of(target, process._args, process._kwargs) if target is not None else None
            if rank is None or not 0 <= rank < self._here.size:
                raise Conflict(
                    f"{_name(target or type(process).run)} in its own process would create another "
                    f"process group; {_ranks(self._here.size)} there already.",
                    "Call it in the cell, with the variables `rank` and `world_size`, instead of "
                    "starting processes.",
                    code="world_size_differs",
                )
            process.__class__ = _ended_kind(type(process))
            if rank == self._here.rank and target is not None:
                self._here_runs(target, *process._args, **process._kwargs)

        return start


class _Ended:
    """Replaces the context that `mp.spawn(join=False)` returns; its processes count as ended."""

    processes: tuple[Any, ...] = ()

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """True: all processes have ended."""
        return True

    def pids(self) -> list[int]:
        """Empty: no process was started."""
        return []


def _ended_kind(kind: type) -> type:
    """A subclass of a Process class whose instances look as if they ran and exited with 0."""

    def join(self: Any, timeout: float | None = None) -> None:
        return None

    members: dict[str, Any] = {
        "join": join,
        "is_alive": lambda self: False,
        "terminate": join,
        "kill": join,
        "close": join,
        "exitcode": property(lambda self: 0),
        "pid": property(lambda self: os.getpid()),
    }
    return type(kind.__name__, (kind,), members)


def _name(function: Any) -> str:
    name = str(getattr(function, "__name__", "the function"))
    return name if getattr(function, "__module__", "") == "__main__" else "the function"


def _rank_of(target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """The rank that a function is called with: the argument named like one, else its first int."""
    code = getattr(target, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if isinstance(code, CodeType) else ()
    arguments = {**dict(zip(names, args, strict=False)), **kwargs}
    for name in RANK_NAMES:
        if type(arguments.get(name)) is int:
            return int(arguments[name])
    return next((value for value in args if type(value) is int), None)


def _ranks(count: int) -> str:
    return counted(count, "rank is", "ranks are")


def _makes_group(function: Any, deep: int = 0) -> bool:
    """Whether a function makes a process group, itself or through functions that it calls."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, MethodType):
        function = function.__func__
    if not isinstance(function, FunctionType) or function.__module__.split(".")[0] in ("torch", "dtrain_lab"):
        return False
    names = set(function.__code__.co_names)
    if names & MAKES_GROUP:
        return True
    if deep == DEEP:
        return False
    scope = function.__globals__
    return any(_makes_group(scope[name], deep + 1) for name in names if name in scope)
