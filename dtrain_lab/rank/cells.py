"""Runs a cell in a rank's kernel, and says how it ended."""

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
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import msgspec
from IPython.core.autocall import ExitAutocall

from dtrain_lab.core.cluster import Frame
from dtrain_lab.core.wire.links import CellReply, Comm, Execute
from dtrain_lab.core.words import Names
from dtrain_lab.rank.group import Group
from dtrain_lab.rank.streams import RankStream

PYTHON_FLUSH_S = 0.002
"""OutStream hands over this soon while a cell runs; its own 0.2 s is what makes %%px lines late."""


KEPT = "_format_exception_for_storage"


class CellRunner:
    """Runs cells one at a time on the main thread.

    Args:
        kernel: of this rank.
        group: asked after each cell for the state of its groups.
        rank: who runs.
        names: told of each cell, for the frames of a crash.
        sources: folder where a debugger writes the cells that it knows.
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
        leave = _Leave()
        kernel.shell.push({"exit": leave, "quit": leave}, interactive=False)
        # what IPython says of SystemExit is meant for a terminal
        warnings.filterwarnings("ignore", message="To exit: use 'exit'", category=UserWarning)
        self.ended: Callable[[BaseException | None], None] = lambda _: None
        """Told of a cell's end and failure, before anybody else."""
        self.busy = False
        self._cells: dict[str, tuple[str, int]] = {}
        """File name of compiled code → label of its cell, lines to add."""

    async def run(self, order: Execute) -> CellReply:
        """Run a cell; never raises, whatever the cell does."""
        kernel = self._kernel
        async with kernel._main_asyncio_lock:  # ipyparallel's shell messages take the same one
            kernel.set_parent([], {"header": _header(order.cell), "content": {}})
            self.busy = True
            with self._quick_streams(), self._quiet_tracebacks():
                error = await self._execute(order)
                self.ended(error)
                for stream in (sys.stdout, sys.stderr):
                    if isinstance(stream, RankStream):
                        stream.drain()
            self.busy = False
            self._file = ""
            groups, count = self._group.specs()
            return CellReply(
                cell=order.cell,
                rank=self._rank,
                **self._outcome(error),
                has_group=self._has_group(),
                sequence=self._group.sequence(),
                groups=groups,
                group_count=count,
            )

    async def comm(self, order: Comm) -> None:
        """Hand a widget's message to it; what its callbacks print belongs to the cell that made it."""
        kernel = self._kernel
        async with kernel._main_asyncio_lock:
            kernel.set_parent([], {"header": _header(order.cell), "content": {}})
            message = {
                "header": {**_header(order.cell), "msg_type": order.kind},
                "parent_header": {},
                "metadata": {},
                "content": msgspec.json.decode(order.data),
                "buffers": [memoryview(buffer) for buffer in order.buffers],
            }
            with self._quick_streams():
                getattr(kernel.comm_manager, order.kind)(None, None, message)

    def place(self, file: str, line: int) -> tuple[str | None, int]:
        """Cell label and user's line of a line of compiled code; None and the line where it is no cell."""
        known = self._cells.get(file)
        return (known[0], line + known[1]) if known else (None, line)

    def name(self, file: str) -> str | None:
        """What a debugger calls a cell's file; None where it is none."""
        return os.path.basename(file) if file in self._cells else None

    def file(self, name: str) -> str | None:
        """Path of a cell's file, by that name or by the cell's label."""
        if not name.startswith("["):
            return f"{self._sources}/{name}"
        known = [file for file, (label, _) in self._cells.items() if label == name]
        return known[-1] if known else None

    def compiled(self, path: str) -> str:
        """Name of a cell's file in compiled code: here, its path."""
        return path

    def texts(self) -> dict[str, str]:
        """None is known before it runs: a notebook's debugger brings their texts."""
        return {}

    def frames(self, tb: TracebackType | None) -> tuple[Frame, ...]:
        """A traceback as values: from the cell inwards, without IPython's own frames."""
        summary = traceback.extract_tb(tb)
        first = next((i for i, f in enumerate(summary) if f.filename in self._cells), 0)
        return tuple(self.frame(f) for f in summary[first:][-40:])

    def frame(self, summary: traceback.FrameSummary) -> Frame:
        """One frame as a value."""
        cell, line = self.place(summary.filename, summary.lineno or 0)
        source = linecache.getline(summary.filename, summary.lineno or 0).rstrip()
        # compiled code lies in a file per process: named by its cell, equal frames are equal on all ranks
        return Frame(f"cell {cell}" if cell else summary.filename, line, summary.name, source, cell)

    async def _execute(self, order: Execute) -> BaseException | None:
        shell = self._kernel.shell
        bad_syntax = None
        try:
            transformed = shell.transform_cell(order.code)
        # a transformer refused it: the shell reports that as the cell's error
        except Exception:  # noqa: BLE001
            transformed, bad_syntax = order.code, sys.exc_info()
        self._file = f"{self._sources}/{order.source}" if order.source else ""
        name = shell.compile.get_code_name(order.code, transformed, shell.execution_count)
        # compiled code has the user's line numbers: a debugger's breakpoints mean those
        blank = len(order.code) - len(order.code.lstrip("\n"))
        transformed = "\n" * (order.first_line - 1 + blank) + transformed
        self._cells[name] = (order.label, 0)
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
        except KeyboardInterrupt as interrupt:  # between the cell's last line and our handler's end
            return interrupt
        finally:
            shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)
        failed: BaseException | None = result.error_before_exec or result.error_in_exec
        if isinstance(failed, asyncio.CancelledError):
            return KeyboardInterrupt()
        if isinstance(failed, SystemExit) and not failed.code:  # how a script says that all is well
            return None
        return failed

    def _code_name(self, raw: str, code: str, number: int) -> str:
        """Name of compiled code: the debugger's, for the cell that runs now."""
        return self._file or str(self._usual_name(raw, code, number))

    def _outcome(self, error: BaseException | None) -> dict[str, Any]:
        if error is None:
            return {"kind": "ok"}
        interrupted = isinstance(error, KeyboardInterrupt)
        try:
            message = str(error)
        # a user's __str__ may fail; the cell's own error must still be told
        except Exception as second:  # noqa: BLE001
            message = f"(its message could not be made: {type(second).__name__})"
        return {
            "kind": "interrupted" if interrupted else "raised",
            "type": type(error).__name__,
            "message": message[:20_000],
            "frames": self.frames(error.__traceback__),
        }

    def _has_group(self) -> bool:
        import torch.distributed as dist

        return bool(dist.is_initialized())

    @contextlib.contextmanager
    def _quiet_tracebacks(self) -> Iterator[None]:
        """The reply carries the error: the shell must not print it too, which takes a second for torch."""
        shell = self._kernel.shell
        quiet = ["showtraceback", "showsyntaxerror", "showindentationerror"]
        for name in quiet:
            setattr(shell, name, _remember_error)
        # IPython keeps each failure's formatted traceback; half a second for the first one through torch
        if hasattr(shell, KEPT):
            setattr(shell, KEPT, _name_only)
            quiet.append(KEPT)
        try:
            yield
        finally:
            for name in quiet:
                delattr(shell, name)

    @contextlib.contextmanager
    def _quick_streams(self) -> Iterator[None]:
        streams = [s for s in (sys.stdout, sys.stderr) if hasattr(s, "flush_interval")]
        usual = [s.flush_interval for s in streams]
        for stream in streams:
            stream.flush_interval = PYTHON_FLUSH_S
        try:
            yield
        finally:
            for stream, interval in zip(streams, usual, strict=True):
                stream.flush_interval = interval


class _Leave(ExitAutocall):  # type: ignore[misc]
    """`exit` and `quit` end the cell, as they end a script; the rank stays."""

    def __call__(self, code: object = None) -> None:
        raise SystemExit(code)


def _name_only(error: BaseException, *_: object, **__: object) -> dict[str, Any]:
    return {"ename": type(error).__name__, "evalue": "", "traceback": []}


def _remember_error(*_: object, **__: object) -> None:
    """For post-mortem debuggers, which look here."""
    sys.last_type, sys.last_value, sys.last_traceback = sys.exc_info()


def _header(cell: str) -> dict[str, str]:
    """Parent of everything the cell puts out; the link finds the cell's id in it."""
    return {"msg_id": cell, "msg_type": "execute_request", "session": "dtrain", "dtrain_cell": cell}


def _has_await(code: str) -> bool:
    try:
        compiled = compile(code, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):  # the shell reports it when it compiles
        return False
    return bool(compiled.co_flags & inspect.CO_COROUTINE)


@contextlib.contextmanager
def _interruptible(task: asyncio.Future[Any] | None) -> Iterator[asyncio.Future[Any] | None]:
    """SIGINT raises KeyboardInterrupt in plain code, and cancels a cell that awaits."""

    def cancel(*_: object) -> None:
        if task is not None:
            task.get_loop().call_soon_threadsafe(task.cancel)

    before = signal.signal(signal.SIGINT, cancel if task is not None else signal.default_int_handler)
    try:
        yield task
    finally:
        signal.signal(signal.SIGINT, before)
