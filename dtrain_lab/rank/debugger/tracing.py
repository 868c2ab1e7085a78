"""Installs pydevd in a rank, removes it without leftover cost, and says which code it must not step into.

Uses private names of pydevd in a few places; `tests/integration/debugger/test_debugger.py` fails when one
changes.
"""

from __future__ import annotations

import ast
import ctypes
import os
import socket
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from dtrain_lab.cells.errors import is_pydevd
from dtrain_lab.rank.debugger import interrupt_hold

Dap = dict[str, Any]
OURS = f"{Path(__file__).parents[2]}{os.sep}"
MACHINERY = (
    "IPython",
    "comm",
    "debugpy",
    "ipykernel",
    "ipyparallel",
    "jupyter_client",
    "matplotlib_inline",
    "prompt_toolkit",
    # so that stepping into a model leads to its `forward`, and a pause in a collective shows the caller
    "torch",
    "tornado",
    "traitlets",
    "zmq",
)
"""Packages that run cells and models, which are never stepped into."""
_on = True
"""Whether threads are to be traced."""


def begin() -> socket.socket:
    """Install pydevd in this process.

    Returns:
        Our end of the connection to pydevd, non-blocking.
    """
    ours, its = socket.socketpair()
    from debugpy.server import api

    api.ensure_logging()  # importing this module makes pydevd speak the protocol as JSON
    import debugpy
    import pydevd

    usual = pydevd.start_client
    pydevd.start_client = lambda _host, _port: its
    try:
        pydevd.settrace(
            host="127.0.0.1",  # never used: the connection exists already
            port=1,
            suspend=False,
            wait_for_ready_to_run=False,
            block_until_connected=True,
            patch_multiprocessing=False,
            notify_stdin=False,
            dont_trace_start_patterns=(os.path.dirname(os.path.abspath(debugpy.__file__)), __file__),
        )
    finally:
        pydevd.start_client = usual
    interrupt_hold.install(pydevd.get_global_debugger())
    ours.setblocking(False)
    os.register_at_fork(after_in_child=leave_child_alone)
    return ours


def _monitoring() -> Any:
    """pydevd's module for `sys.monitoring`; None before Python 3.12."""
    from _pydevd_bundle.pydevd_constants import PYDEVD_USE_SYS_MONITORING

    if not PYDEVD_USE_SYS_MONITORING:
        return None
    from _pydevd_sys_monitoring import pydevd_sys_monitoring

    return pydevd_sys_monitoring


def trace_again() -> None:
    """Start tracing again after `stop_tracing`."""
    global _on
    _on = True
    import pydevd

    database = pydevd.get_global_debugger()
    database.enable_tracing(database.trace_dispatch, apply_to_all_threads=True)
    database.set_tracing_for_untraced_contexts()


def restore_tracing() -> None:
    """Trace this thread again if an interrupt has ended that.

    Python drops the trace function that an exception leaves: an interrupt does so where it comes while
    pydevd stops the thread, or looks whether to stop it. No breakpoint would be reached any more.
    """
    import pydevd

    database = pydevd.get_global_debugger()
    if database is not None and _on and _monitoring() is None and sys.gettrace() is None:
        database.enable_tracing()


def stop_tracing() -> None:
    """Stop tracing in all threads: after pydevd's own `disconnect`, tracing would continue and cost time."""
    monitoring = _monitoring()
    if monitoring is not None:
        monitoring.stop_monitoring(all_threads=True)
        return
    global _on
    _on = False
    threading.settrace(None)
    # only a thread itself can end its tracing: the main thread does so at its next bytecode
    ctypes.pythonapi.Py_AddPendingCall(_end_trace, None)


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _end_trace(_: object) -> int:
    if not _on:  # an idle thread gets here with its next cell, when a debugger may be attached again
        _set_no_trace()
    return 0


def end_remaining_trace() -> None:
    """End this thread's tracing if pydevd was about to set it when `stop_tracing` ended it."""
    if not _on and "pydevd" in type(sys.gettrace()).__module__:
        _set_no_trace()


def _set_no_trace() -> None:
    from pydevd_tracing import SetTrace

    SetTrace(None)


def leave_child_alone() -> None:
    """Stop tracing in a forked child: a DataLoader worker would wait forever at a stop no client sees."""
    monitoring = _monitoring()
    if monitoring is not None:
        monitoring.stop_monitoring(all_threads=True)
    else:
        threading.settrace(None)
        _set_no_trace()


def rules() -> list[Dap]:
    """pydevd's rules for code to step over: what runs cells, and Python's own library.

    Between two statements of a cell IPython compiles the next one; a step must not end there.

    Returns:
        Path patterns, each included or excluded; pydevd takes the first that matches.
    """
    packages = {path for key in ("purelib", "platlib") if (path := sysconfig.get_path(key))}
    folders = [os.path.join(package, name) for package in packages for name in MACHINERY]
    folders.append(OURS)
    out = [{"path": os.path.join(folder, "**"), "include": False} for folder in folders]
    inside = [{"path": os.path.join(package, "**"), "include": True} for package in packages]
    return [*out, *inside, {"path": os.path.join(os.path.dirname(ast.__file__), "**"), "include": False}]


def thread_number(ident: int) -> int:
    """The protocol's number for a thread, given its `ident`."""
    from _pydevd_bundle._debug_adapter.pydevd_base_schema import BaseSchema
    from _pydevd_bundle.pydevd_constants import get_thread_id

    thread = next((t for t in threading.enumerate() if t.ident == ident), threading.main_thread())
    return int(BaseSchema._translate_id_to_dap(get_thread_id(thread)))


def wake() -> None:
    """Wake threads that got a step command: pydevd may let them sleep for 0.2 s after it."""
    import pydevd

    database = pydevd.get_global_debugger()
    if database is not None:
        for event in list(database._thread_events.values()):
            event.set()


def forget_breakpoints() -> None:
    """Remove all breakpoints, those on exceptions included."""
    import pydevd
    from _pydevd_bundle.pydevd_api import PyDevdAPI

    database = pydevd.get_global_debugger()
    if database is not None:
        PyDevdAPI().remove_all_breakpoints(database, "*")
        PyDevdAPI().remove_all_exception_breakpoints(database)


def stop_here(frame: FrameType) -> None:
    """Stop at the next line of a frame of this thread."""
    import pydevd

    pydevd.settrace(
        suspend=True, trace_only_current_thread=True, patch_multiprocessing=False, stop_at_frame=frame
    )


def mark_stopped() -> None:
    """Mark this thread as stopped; it stops in `stay_in`, unless a request lets it run on before that."""
    import pydevd
    from _pydevd_bundle.pydevd_comm_constants import CMD_SET_BREAK

    database = pydevd.get_global_debugger()
    if database is not None:
        thread = threading.current_thread()
        with _untraced(database, thread):
            database.set_suspend(thread, CMD_SET_BREAK)


def is_stopped(frame: FrameType | None) -> bool:
    """Whether a thread whose innermost frame this is has stopped: pydevd waits in it."""
    import pydevd

    wait = pydevd.PyDB.do_wait_suspend.__code__
    while frame is not None and frame.f_code is not wait:
        frame = frame.f_back
    return frame is not None


def mark_running() -> None:
    """Take `mark_stopped` back."""
    from _pydevd_bundle.pydevd_thread_lifecycle import resume_threads

    resume_threads("*")


def forget_step() -> None:
    """Let this thread run on if it was told to step: a step from a cell's last line has nowhere to go."""
    import pydevd
    from _pydevd_bundle.pydevd_thread_lifecycle import internal_run_thread

    database = pydevd.get_global_debugger()
    if database is not None:
        internal_run_thread(threading.current_thread(), database.set_additional_thread_info)


def stay_in(frame: FrameType) -> None:
    """Stop in a frame of this thread, where it is, until a request lets the thread run on."""
    import pydevd

    database = pydevd.get_global_debugger()
    if database is not None:
        thread = threading.current_thread()
        with _untraced(database, thread):
            database.do_wait_suspend(thread, frame, "line", None)


@contextmanager
def _untraced(database: Any, thread: threading.Thread) -> Iterator[None]:
    """Code that runs while a thread is stopped, or its variables are inspected, must not stop in turn."""
    info = database.set_additional_thread_info(thread)
    monitoring = _monitoring()
    suspended = monitoring is not None and monitoring.suspend_current_thread_tracing()
    info.is_tracing += 1
    try:
        yield
    finally:
        info.is_tracing -= 1
        if suspended:
            monitoring.resume_current_thread_tracing()


def stop_after(error: BaseException) -> None:
    """Stop where an error was raised: in the innermost frame of user code, if there is any."""
    import pydevd

    frames = []
    tb = error.__traceback__
    while tb is not None:
        frames.append(tb.tb_frame)
        tb = tb.tb_next
    database = pydevd.get_global_debugger()
    mine = next((f for f in reversed(frames) if not library(f.f_code.co_filename)), None)
    if mine is None or database is None:
        return
    thread = threading.current_thread()
    by_id, raised = {id(frame): frame for frame in frames}, (type(error), error, error.__traceback__)
    with _untraced(database, thread):
        database.do_stop_on_unhandled_exception(thread, mine, by_id, raised)


def compiled() -> bool:
    """Whether torch.compile has compiled anything in this process."""
    originals = getattr(sys.modules.get("torch._dynamo.utils"), "orig_code_map", None)
    return bool(getattr(originals, "values", None))


def library(file: str) -> bool:
    """Whether a file is library code: of an installed package, Python itself, dtrain-lab or pydevd."""
    folders = {path for key in ("purelib", "platlib", "stdlib") if (path := sysconfig.get_path(key))}
    return file.startswith((*folders, OURS, "<frozen")) or is_pydevd(file)
