"""A rank of a job: runs the script that a notebook became, cell by cell, under the cells' names.

`python -m dtrain_lab.rank FOLDER`. A launcher has set RANK and the like; an agent keeps this process, and
shares memory with it. Without either it still runs.
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

from dtrain_lab.core import jobfiles
from dtrain_lab.core.notebook.sections import Section, sections
from dtrain_lab.core.stacks import ASK_SIGNAL, STACKS_SIGNAL
from dtrain_lab.rank import elastic
from dtrain_lab.rank.executed import Executed, Tee
from dtrain_lab.rank.jobdebug import JobDebugger

"""Not one that schedulers or frameworks use."""
PR_SET_PDEATHSIG = 1
OURS = str(Path(__file__).parent.parent)
"""Frames of the monitor stand between the user's and torch's."""


def main() -> None:
    """Entry point."""
    folder = Path(sys.argv[1]).absolute()
    _leave(Runner(folder).run())


def _leave(code: int) -> NoReturn:
    """End as Python ends, but for C++: torch's threads may abort a process whose models live to its end.

    All of Python's own comes first: threads, what is to be done at the exit, output also of C.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads any more, or a cell has closed it
            stream.flush()
    ctypes.CDLL(None).fflush(None)
    os._exit(code)


class Runner:
    """One rank's run of a script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rank = int(os.environ.get("RANK", "0"))
        self.notebook = os.environ.get(jobfiles.NOTEBOOK_VARIABLE, "notebook.ipynb")
        self.executed: Executed | None = None
        self._cells: dict[str, Section] = {}
        """File name of compiled code → its cell."""
        self._parts: tuple[Section, ...] = ()
        self._formatter: Any = None

    def run(self) -> int:
        """Run all cells; the exit code."""
        self._prepare()
        code = self._run_cells()
        self._end(good=code == 0)
        return code

    def _run_cells(self) -> int:
        code = self.folder / jobfiles.CODE
        parts = self._parts = sections((code / jobfiles.MAIN).read_text(encoding="utf-8"))
        if self.rank == 0:
            self.executed = Executed(code / self.notebook, self.folder / jobfiles.EXECUTED)
            sys.stdout = Tee(sys.stdout, "stdout", self.executed)
            sys.stderr = Tee(sys.stderr, "stderr", self.executed)
        module = types.ModuleType("__main__")
        module.__dict__["display"] = self.display
        sys.modules["__main__"] = module
        try:
            self._begin_training(any(p.name == "" and "import torch" in p.source for p in parts))
            cells = [part.name for part in parts if part.name.startswith("[")]
            for part in parts:
                self._begin(part, cells)
                self._execute(part, module.__dict__)
        except SystemExit as leaving:
            if not leaving.code:
                return 0
            self._failed(leaving)
            return leaving.code if isinstance(leaving.code, int) else 1
        # whatever the notebook raises is reported, with the cell that raised it
        except BaseException as error:  # noqa: BLE001
            self.debugger.failed(error)
            self._failed(error)
            return 1
        return 0

    # ---- cells, as a debugger knows them

    def place(self, file: str, line: int) -> tuple[str | None, int]:
        """Label and line of a cell; None and the line where the file is none."""
        part = self._cells.get(os.path.basename(file))
        return (part.name or None if part is not None else None), line

    def name(self, file: str) -> str | None:
        """What a debugger calls a cell: its label."""
        return self.place(file, 0)[0]

    def file(self, name: str) -> str | None:
        """Path of a cell's file, by its label."""
        return os.path.abspath(self.folder / jobfiles.CODE / f"{self.notebook}{name}")

    def compiled(self, path: str) -> str:
        """Name of a cell's file in compiled code."""
        return os.path.basename(path)

    def texts(self) -> dict[str, str]:
        """All cells, by their labels."""
        return {part.name: part.source + "\n" for part in self._parts if part.name.startswith("[")}

    # ---- around

    def _prepare(self) -> None:
        if hasattr(ctypes.CDLL(None), "prctl"):  # an agent that is killed takes its rank along
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        agent = os.environ.pop(jobfiles.AGENT_VARIABLE, "")
        if agent and os.getppid() != int(agent):  # it was killed before we could ask for that
            sys.exit(128 + signal.SIGKILL)
        os.chdir(self.folder / jobfiles.CODE)
        sys.path[:] = [os.getcwd(), *(p for p in sys.path if p not in ("", os.getcwd()))]
        sys.argv = [jobfiles.MAIN]
        os.environ.setdefault("MPLBACKEND", "module://dtrain_lab.rank.canvas")
        faulthandler.enable(file=2)
        stacks = os.environ.pop(jobfiles.STACKS_VARIABLE, "")
        if stacks:
            faulthandler.register(STACKS_SIGNAL, file=int(stacks), all_threads=True, chain=False)
            signal.signal(ASK_SIGNAL, partial(dtrain_write_stacks, int(stacks)))
            signal.siginterrupt(ASK_SIGNAL, False)  # calls of threads in C begin again
        signal.signal(signal.SIGUSR2, _warned)
        self.debugger = JobDebugger(self.rank, self)

    def _begin_training(self, needed: bool) -> None:
        """Threads, monitor and process group, before any code of the user's."""
        from dtrain_lab.training import log

        if self.rank == 0:
            log.to_file(str(self.folder / jobfiles.VALUES))
        metrics = os.environ.pop(jobfiles.METRICS_VARIABLE, "")
        if not needed:
            return
        import torch
        import torch.distributed as dist

        threads = os.environ.get("OMP_NUM_THREADS")
        if threads:
            torch.set_num_threads(int(threads))
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        wanted = os.environ.get(jobfiles.MONITOR_VARIABLE, "1").split(",")
        if metrics and "0" not in wanted:
            from dtrain_lab.rank.monitor import Monitor

            self._metrics = mmap.mmap(int(metrics), 0)
            probe, guard = "no-probe" not in wanted, "guard" in wanted
            Monitor(memoryview(self._metrics), size, probe=probe, guard=guard)
        if "RANK" in os.environ:
            local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
            own_gpu = torch.cuda.is_available() and local <= torch.cuda.device_count()
            collectives = "cpu:gloo,cuda:nccl" if own_gpu else "gloo"
            elastic.init(dist.init_process_group, collectives, "first")
            _answer_tutorials(_Given(self.rank, size, collectives))

    def _begin(self, part: Section, cells: list[str]) -> None:
        if self.executed is not None:
            self.executed.begin(part.name, part.source)
            if part.name.startswith("["):
                index = cells.index(part.name) + 1
                doing = {"cell": part.name, "cell_id": part.id, "index": index, "total": len(cells)}
                part_file = self.folder / f".{jobfiles.DOING}"
                # on a full disk the training goes on, and nobody is told of its cell
                with contextlib.suppress(OSError):
                    part_file.write_text(json.dumps({**doing, "at": time.time()}))
                    part_file.rename(self.folder / jobfiles.DOING)

    def _end(self, *, good: bool) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        if self.executed is not None:
            self.executed.write()
        dist = sys.modules.get("torch.distributed")
        if good and dist is not None and dist.is_initialized():  # a cell has left by sys.exit(0)
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
            from dtrain_lab.rank import canvas

            canvas.to(self._figure)
            canvas.show()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()

    def display(self, *values: Any, **_: Any) -> None:
        """A notebook's `display`."""
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
            from IPython.core.formatters import DisplayFormatter

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
        part = self.folder / f".{jobfiles.error(self.rank)}"
        with contextlib.suppress(OSError):  # a full disk: the log and the exit code are what is left
            part.write_text(json.dumps(told))
            part.rename(self.folder / jobfiles.error(self.rank))
        out = sys.stderr._stream if isinstance(sys.stderr, Tee) else sys.stderr
        print(text, file=out, end="", flush=True)
        if self.executed is not None:
            self.executed.fail(type(error).__name__, message, text.splitlines())


def _answer_tutorials(given: _Given) -> None:
    """Have `init_process_group` and `mp.spawn` find that the ranks are there, once somebody calls them.

    What answers them takes 0.6 s to import, and few notebooks call either.
    """
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch.distributed import distributed_c10d as c10d

    usual = dist.init_process_group, mp.spawn

    def install() -> None:
        from dtrain_lab.rank import tutorials

        dist.init_process_group = c10d.init_process_group = usual[0]
        mp.spawn = usual[1]
        tutorials.install(given, tutorials.Notes())  # type: ignore[arg-type]

    def init_process_group(*args: Any, **kwargs: Any) -> None:
        install()
        dist.init_process_group(*args, **kwargs)

    def spawn(*args: Any, **kwargs: Any) -> Any:
        install()
        return mp.spawn(*args, **kwargs)

    dist.init_process_group = c10d.init_process_group = init_process_group
    mp.spawn = spawn


class _Given:
    """The group of a job, for code that asks for one again."""

    def __init__(self, rank: int, size: int, collectives: str) -> None:
        self.rank, self.size, self.collectives = rank, size, collectives
        self._made = 1

    def remake(self) -> None:
        """A cell has destroyed the group and wants it back."""
        from torch.distributed import distributed_c10d as c10d

        self._made += 1
        original: Any = getattr(c10d.init_process_group, "__wrapped__", None)
        if original is None:
            return
        if not elastic.under_torchrun():  # whose store stays where it is
            os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + 1)
        elastic.init(original, self.collectives, f"again{self._made}")


def _message(error: BaseException) -> str:
    try:
        return str(error)
    # a user's __str__ may fail; the error itself must still be told
    except Exception as second:  # noqa: BLE001
        return f"(its message could not be made: {type(second).__name__})"


def _last_value(tree: ast.Module, source: str) -> ast.Expression | None:
    """The expression at the end of a cell, taken out of it, unless a semicolon hides it."""
    if not tree.body or not isinstance(tree.body[-1], ast.Expr) or source.rstrip().endswith(";"):
        return None
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    return ast.Expression(last.value)


def dtrain_write_stacks(file: int, number: int, frame: Any) -> None:
    """Stacks of all threads, by the main one with the GIL: none of them runs meanwhile."""
    faulthandler.dump_traceback(file, all_threads=True)


def _warned(number: int, frame: Any) -> None:
    print("dtrain-lab: the time of this job is nearly over.", file=sys.stderr, flush=True)
