"""A rank of a job: runs the script made from a notebook, cell by cell, each compiled under its cell's name.

Started as `python -m dtrain_lab.rank FOLDER`. A launcher sets RANK and the like; a node agent watches this
process and shares memory with it. The script runs without either of them too.
"""

from __future__ import annotations
import __future__

import ast
import atexit
import contextlib
import ctypes
import faulthandler
import json
import linecache
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
from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.environment_variables import JobEnvironment
from dtrain_lab.jobs.notebook.sections import Section, sections
from dtrain_lab.machine import atomic_files, processes
from dtrain_lab.rank import child_processes
from dtrain_lab.rank.cells import citations, class_sources, failures
from dtrain_lab.rank.debugger import pause
from dtrain_lab.rank.debugger.job_debugger import JobDebugger
from dtrain_lab.rank.job import tracebacks
from dtrain_lab.rank.job.display import Display, plain
from dtrain_lab.rank.job.setup import Setup
from dtrain_lab.rank.output.executed_notebook import ExecutedNotebook, Tee

FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


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
        self.notebook = JobEnvironment.from_environ().notebook
        self.executed: ExecutedNotebook | None = None
        self._cells: dict[str, Section] = {}
        """Cells by the file name of their compiled code."""
        self._parts: tuple[Section, ...] = ()
        self._futures = 0
        """Compiler flags of the script's imports from `__future__`, which apply to all later cells, too."""
        self._display = Display(None)
        self._setup = Setup(self.rank, folder)

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
            self.executed = ExecutedNotebook(code / self.notebook, self.folder / job_files.EXECUTED)
            sys.stdout = Tee(sys.stdout, "stdout", self.executed)
            sys.stderr = Tee(sys.stderr, "stderr", self.executed)
        module = types.ModuleType("__main__")
        self._display = Display(self.executed)
        module.__dict__["display"] = self._display.display
        sys.modules["__main__"] = module
        try:
            self._setup.begin(any(p.name == "" and "import torch" in p.source for p in parts))
            # set after torch is imported, which must not find a `random.py` beside the notebook; as in a
            # kernel, "" is the current folder, also after a cell has changed it
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

    def locate(self, file: str, line: int) -> tuple[str | None, int]:
        """Label and line of a cell; None and the line where the file is not a cell."""
        part = self._cells.get(os.path.basename(file))
        return (part.name or None if part is not None else None), line

    def name(self, file: str) -> str | None:
        """The debugger's name for a cell, which is its label; None if the file is not a cell."""
        return self.locate(file, 0)[0]

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
        citations.in_warnings(self.locate)
        class_sources.of_classes(lambda: self._cells)
        child_processes.with_code()
        child_processes.fork_by_default()
        processes.end_with_parent(signal.SIGKILL)  # a killed agent must not leave its rank behind
        agent = os.environ.pop(environment_variables.AGENT, "")
        if agent and os.getppid() != int(agent):  # the agent had ended before the line above
            sys.exit(128 + signal.SIGKILL)
        os.chdir(self.folder / job_files.CODE)
        sys.argv = [job_files.MAIN]
        os.environ.setdefault("MPLBACKEND", "module://dtrain_lab.rank.output.job_figures")
        faulthandler.enable(file=2)
        stacks = os.environ.pop(environment_variables.STACKS, "")
        if stacks:  # real-time signals: schedulers and frameworks use SIGUSR1 and SIGUSR2
            faulthandler.register(STACKS_SIGNAL, file=int(stacks), all_threads=True, chain=False)
            signal.signal(ASK_SIGNAL, partial(dtrain_write_stacks, int(stacks)))
            signal.siginterrupt(ASK_SIGNAL, False)  # system calls of C threads restart instead of failing
        signal.signal(signal.SIGUSR2, _warned)
        pause.listen()
        self.debugger = JobDebugger(self.rank, self)

    def _begin(self, part: Section, cells: list[str]) -> None:
        if self.executed is not None:
            self.executed.begin(part.name, part.source)
            if part.name.startswith("["):
                index = cells.index(part.name) + 1
                doing = {"cell": part.name, "cell_id": part.id, "index": index, "total": len(cells)}
                # on a full disk the training goes on; only the name of the running cell is missing
                with contextlib.suppress(OSError):
                    text = json.dumps({**doing, "at": time.time()})
                    atomic_files.swap(self.folder / job_files.DOING, text.encode())

    def _end(self, *, good: bool) -> None:
        if self._setup.monitor is not None and good:
            self._setup.monitor.compare()
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
        code = compile(tree, file, "exec", self._futures, dont_inherit=True)
        self._futures |= code.co_flags & FUTURES
        exec(code, names)
        if last is not None:
            value = eval(compile(last, file, "eval", self._futures, dont_inherit=True), names)
            if value is not None:
                names["_"] = value
                self._display.show(
                    value, result=int(part.name.strip("[]")) if part.name.startswith("[") else None
                )
        self._display.figures()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()

    # ---- failure

    def _failed(self, error: BaseException) -> None:
        unused = sys.modules.get("dtrain_lab.training.gradients.unused")  # not loaded without torch
        error = unused.explained(error) if unused is not None else error
        mine = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in self._cells]
        text = tracebacks.text(error, self._cells)
        cell = self._cells[mine[-1].filename] if mine else None
        at = mine[-1].lineno if mine else getattr(error, "lineno", None)
        message = failures.text_of(error)
        content = {
            "rank": self.rank,
            "cell": (cell.name or None) if cell else None,
            "cell_id": cell.id if cell else None,
            "line": at,
            "type": type(error).__name__,
            "message": message[: failures.MOST_CHARACTERS],
            "traceback": text.splitlines()[:400],
            "time": time.time(),
            "node": socket.gethostname().split(".")[0],
        }
        with contextlib.suppress(OSError):  # on a full disk the log and the exit code still tell
            atomic_files.swap(self.folder / job_files.error(self.rank), json.dumps(content).encode())
        print(text, file=plain(sys.stderr), end="", flush=True)
        if self.executed is not None:
            self.executed.fail(type(error).__name__, message, text.splitlines())


def _last_value(tree: ast.Module, source: str) -> ast.Expression | None:
    """Remove the last expression from a cell and return it; None if there is none or a `;` hides it."""
    if not tree.body or not isinstance(tree.body[-1], ast.Expr) or source.rstrip().endswith(";"):
        return None
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    return ast.Expression(last.value)


def dtrain_write_stacks(file: int, number: int, frame: Any) -> None:
    """Write stacks of all threads. The main thread does it while it holds the GIL, so no other one moves.

    Args:
        file: Descriptor to which the stacks are written.
        number: Number of the signal.
        frame: The frame that it has interrupted.
    """
    faulthandler.dump_traceback(file, all_threads=True)


def _warned(number: int, frame: Any) -> None:
    print("dtrain-lab: the time of this job is nearly over.", file=sys.stderr, flush=True)
