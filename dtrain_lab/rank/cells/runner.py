"""Runs cells in a rank's kernel and reports their outcome."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import linecache
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from types import TracebackType
from typing import Any

from IPython.core.autocall import ExitAutocall
from IPython.core.error import UsageError
from msgspec.structs import replace

from dtrain_lab.cells.errors import is_library
from dtrain_lab.cells.output_buffer import Names
from dtrain_lab.cells.syntax import blank_lines
from dtrain_lab.errors import DtrainError
from dtrain_lab.machine.signals import set_handler
from dtrain_lab.rank import children
from dtrain_lab.rank.cells import citations, failures, pager
from dtrain_lab.rank.cells import sources as cell_sources
from dtrain_lab.rank.cells.transforms import quick_transform
from dtrain_lab.rank.group.lifecycle import Group
from dtrain_lab.rank.ipykernel import main_lock
from dtrain_lab.rank.output.streams import RankStream
from dtrain_lab.training import log
from dtrain_lab.training.gradients import unused
from dtrain_lab.wire.links import CellReply, Execute
from dtrain_lab.wire.metrics.diagnosis import Report
from dtrain_lab.wire.stacks import Frame

PYTHON_FLUSH_S = 0.002
"""Flush interval of stdout and stderr while a cell runs, seconds; OutStream's 0.2 s makes %%px lines late."""


CONTEXT = 2
"""Lines of source shown above the one that raised."""

KEPT = "_format_exception_for_storage"
SHELL = "IPython.core.interactiveshell"
TIMED = ("<timed exec>", "<timed eval>")


class CellRunner:
    """Runs cells one at a time on the main thread.

    Args:
        kernel: this rank's kernel.
        group: the process groups of this rank, whose state is reported after each cell.
        rank: number of this rank.
        names: shared with the node agent, so that it can name cells in the stack of a crashed rank.
        sources: folder where the debugger writes the files of cells.
    """

    def __init__(self, kernel: Any, group: Group, rank: int, names: Names, sources: str) -> None:
        self._kernel = kernel
        self._group = group
        self._rank = rank
        self._names = names
        self._sources = sources
        self._usual_name = kernel.shell.compile.get_code_name
        self._file = ""
        kernel.shell.compile.get_code_name = self._code_name
        self._transform = quick_transform(kernel.shell)
        citations.in_warnings(self.place)
        citations.in_tracebacks(self.place)
        citations.in_shell(kernel.shell, self.place)
        pager.in_cells(kernel.shell)
        cell_sources.of_classes(lambda: (*self._inner, *self._cells))
        children.with_code()
        children.fork_by_default()
        leave = _Leave()
        kernel.shell.push({"exit": leave, "quit": leave}, interactive=False)
        # IPython's hint after SystemExit is meant for a terminal
        warnings.filterwarnings("ignore", message="To exit: use 'exit'", category=UserWarning)
        self.began: Callable[[], None] = lambda: None
        """Called when a cell has begun."""
        self.ended: Callable[[BaseException | None], None] = lambda _: None
        """Called with the error or None when a cell has ended, before its reply is made."""
        self.busy = False
        self.parent: dict[str, Any] = {}
        """Parent message of the last cell's output."""
        self._cells: dict[str, tuple[str, int]] = {}
        """Label of the cell and lines to add, by file name of compiled code."""
        self._runs: dict[str, str] = {}
        """The world's own id of the cell, by file name: two notebooks may both have a [3]."""
        self._inner: dict[str, tuple[str, int]] = {}
        """As `_cells`, for code that a magic of a cell has run, like `%%capture`."""
        self._written: dict[str, list[str]] = {}
        """The cell's lines as the user wrote them, by file name of compiled code."""
        self._order: Execute | None = None

    async def run(self, order: Execute) -> CellReply:
        """Run a cell; never raises, whatever the cell does.

        Args:
            order: the cell, and how it is labelled.

        Returns:
            How the cell ended, and the state of the rank's groups.
        """
        return await self._run(order.cell, partial(self._execute, order))

    async def measure(self, cell: str, work: Callable[[], Report]) -> CellReply:
        """Run `diagnose` in the place of a cell; never raises.

        Args:
            cell: the id under which the head knows it.
            work: measures; runs on the main thread, and can be interrupted like a cell.

        Returns:
            How it ended, with its report.
        """
        reports: list[Report] = []

        async def execute() -> BaseException | None:
            try:
                with _interruptible(None):
                    reports.append(work())
            # it runs the user's model, which may raise anything; the reply has it
            except BaseException as error:  # noqa: BLE001
                return error
            return None

        reply = await self._run(cell, execute)
        return replace(reply, report=reports[0]) if reports else reply

    async def _run(self, cell: str, execute: Callable[[], Awaitable[BaseException | None]]) -> CellReply:
        kernel = self._kernel
        async with main_lock(kernel):  # ipyparallel's shell messages take the same lock
            self.parent = {"header": cell_header(cell), "content": {}}
            kernel.set_parent([], self.parent)
            for stream in RankStream.made.values():
                if stream is not sys.stdout and stream is not sys.stderr:  # whose the kernel has set
                    stream.set_parent(self.parent)
            self.busy = True
            self.began()
            with self.quick_streams(), self._quiet_tracebacks() as shown:
                error = await execute() or shown.inner
                self.ended(error)
                drain()
                log.settle()  # the cell's last values go before its reply
            self.busy = False
            self._file = ""
            groups, count = self._group.specs()
            return CellReply(
                cell=cell,
                rank=self._rank,
                **self._outcome(error),
                has_group=self._has_group(),
                sequence=self._group.sequence(),
                groups=groups,
                group_count=count,
            )

    def place(self, file: str, line: int) -> tuple[str | None, int]:
        """Cell label and user's line for a line of compiled code; None and the line outside cells."""
        known = self._cells.get(file) or self._inner.get(file)
        return (known[0], line + known[1]) if known else (None, line)

    def name(self, file: str) -> str | None:
        """The debugger's name for a cell's file; None where the file is not a cell."""
        return os.path.basename(file) if file in self._cells else None

    def file(self, name: str) -> str | None:
        """Path of a cell's file, given the debugger's name or the label; None for an unknown label."""
        if not name.startswith("["):
            return f"{self._sources}/{name}"
        known = [file for file, (label, _) in self._cells.items() if label == name]
        return known[-1] if known else None

    def compiled(self, path: str) -> str:
        """File name that a cell's compiled code has: in a cluster the path itself."""
        return path

    def texts(self) -> dict[str, str]:
        """Empty: no cell is known before it runs; the notebook's debugger sends the texts."""
        return {}

    def text(self, name: str) -> str | None:
        """A cell's text with the user's line numbers, by the debugger's name; None for an unknown name."""
        written = self._written.get(self.file(name) or "")
        return "\n".join(written) if written is not None else None

    def frames(self, tb: TracebackType | None) -> tuple[Frame, ...]:
        """Frames of a traceback from the cell inwards, without IPython's own; the innermost 40 at most."""
        summary = traceback.extract_tb(tb)
        first = next((i for i, f in enumerate(summary) if self.place(f.filename, 0)[0] is not None), 0)
        found: list[Frame] = []
        magic: Frame | None = None
        for own in summary[first:]:
            frame = self.frame(own)
            magic = frame if frame.cell else magic
            if own.filename in TIMED and magic is not None:
                frame = self._timed(frame, magic)
            found.append(frame)
        return tuple(found[-40:])

    def _timed(self, frame: Frame, magic: Frame) -> Frame:
        """Map a frame of a `%time` magic, which compiles code under its own file name, to the cell's line.

        Args:
            frame: in the code that the magic ran.
            magic: of the cell's line with the magic.
        """
        order = self._order
        written = self._lines(order) if order is not None else []
        line = magic.line
        if magic.source.startswith("%%"):
            line += frame.line + blank_lines("\n".join(written[magic.line :]))
        source = written[line - 1] if line <= len(written) else ""
        return Frame(magic.file, line, frame.function, source.rstrip(), magic.cell)

    @staticmethod
    def _lines(order: Execute) -> list[str]:
        """A cell's lines as the user counts them."""
        return [""] * (order.first_line - 1) + order.code.split("\n")

    def _written_line(self, file: str, line: int) -> str:
        """A line of a cell's file as the user wrote it; empty for other files."""
        written = self._written.get(file, [])
        return written[line - 1] if 0 < line <= len(written) else ""

    def frame(self, summary: traceback.FrameSummary) -> Frame:
        """Convert one frame of a traceback."""
        cell, line = self.place(summary.filename, summary.lineno or 0)
        written = self._written_line(summary.filename, summary.lineno or 0)
        source = (written or linecache.getline(summary.filename, summary.lineno or 0)).rstrip()
        # file names of compiled code differ per process; named by the cell, frames compare equal across ranks
        run = self._runs.get(summary.filename, "")
        found = Frame(f"cell {cell}" if cell else summary.filename, line, summary.name, source, cell, run=run)
        if is_library(found):
            return replace(found, library=True)
        return replace(found, before=self._before(summary))

    def _before(self, summary: traceback.FrameSummary) -> tuple[str, ...]:
        """Source lines above a frame's line, without leading blank ones."""
        number = summary.lineno or 0
        first = max(1, number - CONTEXT)
        name = summary.filename
        lines = [
            (self._written_line(name, n) or linecache.getline(name, n)).rstrip() for n in range(first, number)
        ]
        while lines and not lines[0]:
            lines.pop(0)
        return tuple(lines)

    async def _execute(self, order: Execute) -> BaseException | None:
        shell = self._kernel.shell
        bad_syntax = None
        try:
            transformed = self._transform(order.code)
        # an input transformer failed: the shell reports that as the cell's error
        except Exception:  # noqa: BLE001
            transformed, bad_syntax = order.code, sys.exc_info()
        self._order = order
        self._file = f"{self._sources}/{order.source}" if order.source else ""
        name = shell.compile.get_code_name(order.code, transformed, shell.execution_count)
        # give compiled code the user's line numbers, which breakpoints refer to
        transformed = "\n" * (order.first_line - 1 + blank_lines(order.code)) + transformed
        self._cells[name] = (order.label, 0)
        self._runs[name] = order.cell
        self._written[name] = self._lines(order)
        self._names.add(name, order.label, 0)
        waits = _has_await(transformed)
        run = shell.run_cell_async(
            order.code,
            store_history=True,
            transformed_cell=transformed,
            preprocessing_exc_tuple=bad_syntax,
        )
        try:
            with _interruptible(asyncio.ensure_future(run) if waits else None) as task:
                result = await (task if task is not None else run)
        except asyncio.CancelledError:
            return KeyboardInterrupt()
        except KeyboardInterrupt as interrupt:  # after the cell's last line, before our handler's removal
            return interrupt
        finally:
            shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)
        failed: BaseException | None = result.error_before_exec or result.error_in_exec
        if isinstance(failed, asyncio.CancelledError):
            return KeyboardInterrupt()
        if isinstance(failed, SystemExit) and not failed.code:  # exit code 0 is success
            return None
        if isinstance(failed, SystemExit) and isinstance(failed.__context__, KeyboardInterrupt):
            return failed.__context__  # a framework has turned an interrupt into an exit code
        return failed

    def _code_name(self, raw: str, code: str, number: int) -> str:
        """File name for compiled code: for the running cell itself the path that the debugger knows."""
        order = self._order
        if order is None or raw == order.code:
            return self._file or str(self._usual_name(raw, code, number))
        name = str(self._usual_name(raw, code, number))
        body = raw.rstrip()
        above = order.code.rstrip().removesuffix(body)
        if body and above != order.code.rstrip():
            lines = above.count("\n") + blank_lines(raw) + order.first_line - 1
            self._inner[name] = (order.label, lines)
        return name

    def _outcome(self, error: BaseException | None) -> dict[str, Any]:
        if error is None:
            return {"kind": "ok"}
        error = unused.explained(error)
        frames = self.frames(error.__traceback__)
        if isinstance(error, UsageError):  # raised by a magic: IPython's own frames don't help the user
            frames = tuple(frame for frame in frames if frame.cell)
        while isinstance(error, DtrainError) and len(frames) > 1 and is_library(frames[-1]):
            frames = frames[:-1]  # where we raised it helps nobody: the sentence does
        if isinstance(error, SyntaxError) and self.place(error.filename or "", 0)[0] is not None:
            frames = ()  # all frames are the shell's, which compiled the cell
        return {
            "kind": "interrupted" if isinstance(error, KeyboardInterrupt) else "raised",
            "type": type(error).__name__,
            "message": failures.message(error, self.place),
            "frames": frames,
            "detail": failures.detail(error, self.place, self._written_line),
        }

    def _has_group(self) -> bool:
        import torch.distributed as dist

        return bool(dist.is_initialized())

    @contextlib.contextmanager
    def _quiet_tracebacks(self) -> Iterator[_Shown]:
        """Keep the shell from printing the cell's error: the reply has it, and torch's take a second."""
        shell = self._kernel.shell
        quiet = ["showtraceback", "showsyntaxerror", "showindentationerror"]
        shown = _Shown()
        for name in quiet:
            setattr(shell, name, shown.quiet(getattr(shell, name)))
        # IPython stores each failure's formatted traceback, half a second for the first one through torch
        if hasattr(shell, KEPT):
            setattr(shell, KEPT, _name_only)
            quiet.append(KEPT)
        try:
            yield shown
        finally:
            for name in quiet:
                delattr(shell, name)

    @contextlib.contextmanager
    def quick_streams(self) -> Iterator[None]:
        """Flush stdout and stderr every 2 ms while the user's code runs."""
        streams = list(RankStream.made.values())
        usual = [s.flush_interval for s in streams]
        for stream in streams:
            stream.flush_interval = PYTHON_FLUSH_S
        try:
            yield
        finally:
            for stream, interval in zip(streams, usual, strict=True):
                stream.flush_interval = interval


class _Leave(ExitAutocall):  # type: ignore[misc]
    """`exit` and `quit`: end the cell, as they end a script, but not the rank."""

    def __call__(self, code: object = None) -> None:
        raise SystemExit(code)


def _name_only(error: BaseException, *_: object, **__: object) -> dict[str, Any]:
    return {"ename": type(error).__name__, "evalue": "", "traceback": []}


class _Shown:
    """Lets the shell show exceptions that a library has caught, but not the cell's own: the reply has it."""

    def __init__(self) -> None:
        self._showing = False
        self.inner: BaseException | None = None
        """The error that the shell would have shown; for code that a magic ran this is its only record."""

    def quiet(self, usual: Callable[..., None]) -> Callable[..., None]:
        """Wrap one of the shell's methods that show errors."""

        def show(*args: object, **kwargs: object) -> None:
            own = sys._getframe(1).f_globals.get("__name__") == SHELL
            if own and not self._showing:
                # post-mortem debuggers read these
                sys.last_type, sys.last_value, sys.last_traceback = sys.exc_info()
                if isinstance(sys.last_value, Exception):
                    self.inner = sys.last_value
                return
            self._showing = True
            try:
                usual(*args, **kwargs)
            finally:
                self._showing = False

        return show


def drain() -> None:
    """Read everything that C code and child processes have written so far."""
    for stream in RankStream.made.values():
        stream.drain()


def cell_header(cell: str) -> dict[str, str]:
    """Parent header of a cell's output, in which the link finds the cell's id."""
    return {"msg_id": cell, "msg_type": "execute_request", "session": "dtrain", "dtrain_cell": cell}


def _has_await(code: str) -> bool:
    if "await" not in code and "async" not in code:  # spares most cells a compilation
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the shell shows warnings when it compiles
            compiled = compile(code, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):  # the shell reports the error when it compiles
        return False
    return bool(compiled.co_flags & inspect.CO_COROUTINE)


@contextlib.contextmanager
def _interruptible(task: asyncio.Future[Any] | None) -> Iterator[asyncio.Future[Any] | None]:
    """Make SIGINT raise KeyboardInterrupt in plain code, and cancel the task of a cell that awaits."""

    def cancel(*_: object) -> None:
        if task is not None:
            task.get_loop().call_soon_threadsafe(task.cancel)

    before = set_handler(signal.SIGINT, cancel if task is not None else signal.default_int_handler)
    try:
        yield task
    finally:
        set_handler(signal.SIGINT, before)
