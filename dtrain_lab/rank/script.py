"""A rank of a job: runs the script made from a notebook, cell by cell, each compiled under its cell's name.

Started as `python -m dtrain_lab.rank FOLDER`. A launcher sets RANK and the like; a node agent watches this
process and shares memory with it. The script runs without either of them too.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import ctypes
import faulthandler
import json
import linecache
import mmap
import os
import signal
import socket
import sys
import threading
import time
import traceback
import types
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from dtrain_lab.debugger.faulthandler import ASK_SIGNAL, STACKS_SIGNAL
from dtrain_lab.jobs import files as job_files
from dtrain_lab.jobs import variables
from dtrain_lab.jobs.notebook.sections import Section, sections
from dtrain_lab.machine import durable, processes
from dtrain_lab.placement.frameworks import ascend
from dtrain_lab.rank import children
from dtrain_lab.rank.cells import citations, sources
from dtrain_lab.rank.debugger.job import JobDebugger
from dtrain_lab.rank.group import elastic
from dtrain_lab.rank.output.executed import Executed, Tee
from dtrain_lab.wire.kinds import Framework

OURS = f"{Path(__file__).parents[1]}{os.sep}"
"""Our own folder: tracebacks leave out the monitor's frames, which stand between the user's and torch's."""


def main() -> None:
    """Run the job folder named by the first argument, and exit with the script's code."""
    folder = Path(sys.argv[1]).absolute()
    _leave(Runner(folder).run())


def _leave(code: int) -> NoReturn:
    """Exit without C++ destructors: torch's threads may abort a process whose models live until its end.

    Python's own shutdown comes first: threads are joined, exit functions run, output of Python and C is
    flushed.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the reader is gone, or a cell closed the stream
            stream.flush()
    ctypes.CDLL(None).fflush(None)
    os._exit(code)


class Runner:
    """Runs a job's script as one rank.

    Args:
        folder: the job's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rank = int(os.environ.get("RANK", "0"))
        self.notebook = os.environ.get(job_files.NOTEBOOK_VARIABLE, "notebook.ipynb")
        self.executed: Executed | None = None
        self._cells: dict[str, Section] = {}
        """Cells by the file name of their compiled code."""
        self._parts: tuple[Section, ...] = ()
        self._formatter: Any = None
        self._monitor: Any = None

    def run(self) -> int:
        """Run all cells.

        Returns:
            The exit code: 0, 1 after an error, or the code given to `sys.exit`.
        """
        self._prepare()
        code = self._run_cells()
        self._end(good=code == 0)
        return code

    def _run_cells(self) -> int:
        code = self.folder / job_files.CODE
        parts = self._parts = sections((code / job_files.MAIN).read_text(encoding="utf-8"))
        if self.rank == 0:
            self.executed = Executed(code / self.notebook, self.folder / job_files.EXECUTED)
            sys.stdout = Tee(sys.stdout, "stdout", self.executed)
            sys.stderr = Tee(sys.stderr, "stderr", self.executed)
        module = types.ModuleType("__main__")
        module.__dict__["display"] = self.display
        sys.modules["__main__"] = module
        try:
            self._begin_training(any(p.name == "" and "import torch" in p.source for p in parts))
            # only now: torch must not import a `random.py` that lies beside the notebook
            # as in a kernel, "" is the folder that a cell changes to
            sys.path[:] = ["", os.getcwd(), *(p for p in sys.path if p not in ("", os.getcwd()))]
            cells = [part.name for part in parts if part.name.startswith("[")]
            for part in parts:
                self._begin(part, cells)
                self._execute(part, module.__dict__)
        except SystemExit as leaving:
            if not leaving.code:
                return 0
            self._failed(leaving)
            return leaving.code if isinstance(leaving.code, int) else 1
        # any exception of the notebook is reported, with the cell that raised it
        except BaseException as error:  # noqa: BLE001
            self.debugger.failed(error)
            self._failed(error)
            return 1
        return 0

    # ---- CellFiles, for the debugger

    def place(self, file: str, line: int) -> tuple[str | None, int]:
        """Label and line of a cell; None and the line where the file is not a cell."""
        part = self._cells.get(os.path.basename(file))
        return (part.name or None if part is not None else None), line

    def name(self, file: str) -> str | None:
        """The debugger's name for a cell, which is its label; None where the file is not a cell."""
        return self.place(file, 0)[0]

    def file(self, name: str) -> str | None:
        """Path of the file of a cell, given its label."""
        return os.path.abspath(self.folder / job_files.CODE / f"{self.notebook}{name}")

    def compiled(self, path: str) -> str:
        """File name that a cell's compiled code has, given the path of its file."""
        return os.path.basename(path)

    def texts(self) -> dict[str, str]:
        """Text of every cell, by label."""
        return {part.name: part.source + "\n" for part in self._parts if part.name.startswith("[")}

    def text(self, name: str) -> str | None:
        """Text of a cell, by its label; None for an unknown label."""
        return self.texts().get(name)

    # ---- before and after the cells

    def _prepare(self) -> None:
        citations.in_warnings(self.place)
        sources.of_classes(lambda: self._cells)
        children.with_code()
        children.fork_by_default()
        processes.end_with_parent(signal.SIGKILL)  # a killed agent must not leave its rank behind
        agent = os.environ.pop(job_files.AGENT_VARIABLE, "")
        if agent and os.getppid() != int(agent):  # the agent was killed before the line above
            sys.exit(128 + signal.SIGKILL)
        os.chdir(self.folder / job_files.CODE)
        sys.argv = [job_files.MAIN]
        os.environ.setdefault("MPLBACKEND", "module://dtrain_lab.rank.output.job_figures")
        faulthandler.enable(file=2)
        stacks = os.environ.pop(job_files.STACKS_VARIABLE, "")
        if stacks:  # real-time signals: schedulers and frameworks use SIGUSR1 and SIGUSR2
            faulthandler.register(STACKS_SIGNAL, file=int(stacks), all_threads=True, chain=False)
            signal.signal(ASK_SIGNAL, partial(dtrain_write_stacks, int(stacks)))
            signal.siginterrupt(ASK_SIGNAL, False)  # system calls of C threads restart instead of failing
        signal.signal(signal.SIGUSR2, _warned)
        self.debugger = JobDebugger(self.rank, self)

    def _begin_training(self, needed: bool) -> None:
        """Set threads, monitor and process group up before the user's code runs.

        Args:
            needed: whether the script imports torch.
        """
        from dtrain_lab.training import log

        if self.rank == 0:
            log.to_file(str(self.folder / job_files.VALUES))
        metrics = os.environ.pop(job_files.METRICS_VARIABLE, "")
        framework = variables.framework()
        monitored = variables.monitored()
        if framework is not None:
            self._begin_framework(framework.name, metrics if monitored.on else "")
        if not needed:
            return
        import torch
        import torch.distributed as dist

        threads = os.environ.get("OMP_NUM_THREADS")
        if threads:
            torch.set_num_threads(int(threads))
        size = int(os.environ.get("WORLD_SIZE", "1"))
        npu = os.environ.get(ascend.VARIABLE) == "npu"
        if npu:
            import torch_npu  # noqa: F401 # it adds torch.npu and HCCL

            torch.npu.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.npu.device_count())
        elif torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        if metrics and monitored.on:
            from dtrain_lab.rank.monitor import Monitor
            from dtrain_lab.rank.notes import Notes

            self._metrics = mmap.mmap(int(metrics), 0)
            probe, guard = monitored.probe, monitored.guard
            self._monitor = Monitor(
                memoryview(self._metrics), size, probe=probe, guard=guard, say=Notes().say
            )
        if "RANK" in os.environ:
            local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
            self._tell_frameworks(size, local)
            own_gpu = torch.cuda.is_available() and local <= torch.cuda.device_count()
            collectives = "cpu:gloo,cuda:nccl" if own_gpu else "gloo"
            if npu:
                collectives = ascend.COLLECTIVES
            store = elastic.init(dist.init_process_group, collectives, "first")
            if self._monitor is not None:
                keeps = self.rank == 0 and not elastic.under_torchrun()
                self._monitor.begin_cell("job", size, store, keeps_store=keeps)
            _answer_tutorials(_Given(self.rank, size, collectives, store))

    def _begin_framework(self, name: Framework, metrics: str) -> None:
        """Set up what works with another framework than torch, which may not be installed here.

        Args:
            name: its name.
            metrics: file descriptor of the metrics ring; empty without an agent or a monitor.
        """
        from dtrain_lab.placement.frameworks import names
        from dtrain_lab.rank import marked_steps
        from dtrain_lab.rank.frameworks import tensorflow

        if name == "tensorflow":
            tensorflow.with_moved_names()
        if metrics:
            self._metrics = mmap.mmap(int(metrics), 0)
            marked_steps.MarkedSteps(memoryview(self._metrics))
            if self.rank == 0:
                marked_steps.say(names.TITLES[name])

    def _tell_frameworks(self, size: int, local: int) -> None:
        from dtrain_lab.rank.frameworks import torch_libraries

        own, node = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("NODE_RANK", "0"))
        told = torch_libraries.torchrun_variables(self.rank, size, own, local, node, "dtrain-lab")
        for name, value in told.items():  # torchrun's own values win where it started this process
            os.environ.setdefault(name, value)

    def _begin(self, part: Section, cells: list[str]) -> None:
        if self.executed is not None:
            self.executed.begin(part.name, part.source)
            if part.name.startswith("["):
                index = cells.index(part.name) + 1
                doing = {"cell": part.name, "cell_id": part.id, "index": index, "total": len(cells)}
                # on a full disk the training goes on; only the name of the running cell is missing
                with contextlib.suppress(OSError):
                    text = json.dumps({**doing, "at": time.time()})
                    durable.swap(self.folder / job_files.DOING, text.encode())

    def _end(self, *, good: bool) -> None:
        if self._monitor is not None and good:
            self._monitor.compare()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        if self.executed is not None:
            self.executed.write()
        dist = sys.modules.get("torch.distributed")
        if good and dist is not None and dist.is_initialized():  # a cell called sys.exit(0)
            dist.destroy_process_group()

    # ---- cells

    def _execute(self, part: Section, names: dict[str, Any]) -> None:
        file = f"{self.notebook}{part.name}" if part.name.startswith("[") else part.name or "preamble"
        self._cells[file] = part
        source = part.source + "\n"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        tree = ast.parse(source, file)
        last = _last_value(tree, source)
        exec(compile(tree, file, "exec"), names)
        if last is not None:
            value = eval(compile(last, file, "eval"), names)
            if value is not None:
                names["_"] = value
                self._show(value, result=int(part.name.strip("[]")) if part.name.startswith("[") else None)
        if "matplotlib.pyplot" in sys.modules:
            from dtrain_lab.rank.output import job_figures

            job_figures.to(self._figure)
            job_figures.show()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()

    def display(self, *values: Any, **_: Any) -> None:
        """Show values as a notebook's `display` does."""
        for value in values:
            self._show(value)

    def _show(self, value: Any, result: int | None = None) -> None:
        data, metadata = self._formats(value)
        out = sys.stdout._stream if isinstance(sys.stdout, Tee) else sys.stdout
        print(data.get("text/plain", repr(value)), file=out, flush=True)
        if self.executed is not None:
            self.executed.show(data, metadata, result)

    def _formats(self, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._formatter is None:
            try:
                from IPython.core.formatters import DisplayFormatter
            except ImportError:  # an environment of another framework
                return {"text/plain": repr(value)}, {}
            self._formatter = DisplayFormatter()
        data, metadata = self._formatter.format(value)
        return dict(data), dict(metadata)

    def _figure(self, png: bytes) -> None:
        print("<Figure>", file=sys.stdout._stream if isinstance(sys.stdout, Tee) else sys.stdout)
        if self.executed is not None:
            self.executed.show({"image/png": png, "text/plain": "<Figure>"}, {})

    # ---- failure

    def _failed(self, error: BaseException) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        first = next((i for i, f in enumerate(frames) if f.filename in self._cells), 0)
        mine = [f for f in frames if f.filename in self._cells]
        shown = [f for f in frames[first:] if f.filename in self._cells or not f.filename.startswith(OURS)]
        lines = ["Traceback (most recent call last):\n", *traceback.format_list(shown)]
        if isinstance(error, SyntaxError):
            lines = []
        lines += traceback.format_exception_only(type(error), error)
        text = "".join(lines)
        cell = self._cells[mine[-1].filename] if mine else None
        at = mine[-1].lineno if mine else getattr(error, "lineno", None)
        message = _message(error)
        told = {
            "rank": self.rank,
            "cell": (cell.name or None) if cell else None,
            "cell_id": cell.id if cell else None,
            "line": at,
            "type": type(error).__name__,
            "message": message[:20_000],
            "traceback": text.splitlines()[:400],
            "time": time.time(),
            "node": socket.gethostname().split(".")[0],
        }
        with contextlib.suppress(OSError):  # on a full disk the log and the exit code still tell
            durable.swap(self.folder / job_files.error(self.rank), json.dumps(told).encode())
        out = sys.stderr._stream if isinstance(sys.stderr, Tee) else sys.stderr
        print(text, file=out, end="", flush=True)
        if self.executed is not None:
            self.executed.fail(type(error).__name__, message, text.splitlines())


def _answer_tutorials(given: _Given) -> None:
    """Replace `init_process_group` and launchers, so that they find the existing ranks.

    The module that answers `init_process_group` is imported at the first call: it takes 0.6 s, and few
    notebooks call it.
    """
    import torch.distributed as dist
    from torch.distributed import distributed_c10d as c10d

    from dtrain_lab.rank import launchers, rpc
    from dtrain_lab.rank.frameworks import torch_libraries
    from dtrain_lab.rank.notes import Notes

    usual = dist.init_process_group
    notes = Notes()

    def init_process_group(*args: Any, **kwargs: Any) -> None:
        from dtrain_lab.rank import group_calls

        dist.init_process_group = c10d.init_process_group = usual
        group_calls.install(given, notes)  # type: ignore[arg-type]
        dist.init_process_group(*args, **kwargs)

    init_process_group.__wrapped__ = usual  # type: ignore[attr-defined]
    dist.init_process_group = c10d.init_process_group = init_process_group
    launchers.install(given, notes)
    rpc.install(given)
    torch_libraries.introduce(lambda: given.size > 1 and "nccl" not in given.collectives)


class _Given:
    """The process group of a job, for code that asks for one although it exists."""

    def __init__(self, rank: int, size: int, collectives: str, store: Any) -> None:
        self.rank, self.size, self.collectives, self.store = rank, size, collectives, store
        self._made = 1

    def remake(self) -> None:
        """Make the group again, for a cell that destroyed it; a collective."""
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d

        self._made += 1
        original: Any = getattr(c10d.init_process_group, "__wrapped__", None)
        if original is None:
            return
        # in the store where the ranks first met: another process may hold the port by now
        store = dist.PrefixStore(f"again{self._made}", self.store)
        original(self.collectives, store=store, rank=self.rank, world_size=self.size)
        # wait for all: a rank whose script ended here would close connections that peers are still making
        if store.add("joined", 1) == self.size:
            store.set("whole", "1")
        store.wait(["whole"])


def _message(error: BaseException) -> str:
    try:
        return str(error)
    # a user's __str__ may fail; the error must still be reported
    except Exception as second:  # noqa: BLE001
        return f"(its message could not be made: {type(second).__name__})"


def _last_value(tree: ast.Module, source: str) -> ast.Expression | None:
    """Remove the last expression from a cell and return it; None where there is none or a `;` hides it."""
    if not tree.body or not isinstance(tree.body[-1], ast.Expr) or source.rstrip().endswith(";"):
        return None
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    return ast.Expression(last.value)


def dtrain_write_stacks(file: int, number: int, frame: Any) -> None:
    """Write stacks of all threads. The main thread does it while it holds the GIL, so no other one moves."""
    faulthandler.dump_traceback(file, all_threads=True)


def _warned(number: int, frame: Any) -> None:
    print("dtrain-lab: the time of this job is nearly over.", file=sys.stderr, flush=True)
