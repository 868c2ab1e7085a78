"""Pauses the main thread where it is, even in a blocking call, with a signal whose handler runs there.

pydevd's own pause asks all threads to stop, and counts the first one that reaches a line. While the main
thread sleeps, that is another thread, such as tqdm's monitor. It also waits for the next line, of which a
cell's last statement has none.
"""

from __future__ import annotations

import signal
from types import FrameType

from dtrain_lab.rank.debugger import tracing

SIGNAL = signal.SIGURG
"""Ignored by default, and used by neither Python nor torch."""
_asked = False
"""A plain value: the handler of a signal may be interrupted by another one, and must hold no lock."""
_forgotten = 0
"""Number of pauses that were cancelled."""
ASK_AGAIN_S = 0.05


def listen() -> None:
    """Handle the signal; called once, in the main thread."""
    signal.signal(SIGNAL, _stop)


def ask(thread: int) -> None:
    """Ask the main thread to stop in the user's innermost frame.

    Between two statements of a cell there is no such frame: `repeat` the signal while `asked`.

    Args:
        thread: `ident` of the main thread.
    """
    global _asked
    _asked = True
    repeat(thread)


def repeat(thread: int) -> None:
    """Send the signal once more; no effect on a thread that has stopped since."""
    signal.pthread_kill(thread, SIGNAL)


def asked() -> bool:
    """Whether the main thread was asked to pause and has not stopped yet."""
    return _asked


def forget() -> None:
    """Let the main thread run on if it was asked to pause and has not stopped yet."""
    global _asked, _forgotten
    _asked = False
    _forgotten += 1


def _stop(_: int, frame: FrameType | None) -> None:
    global _asked
    if not _asked:
        return
    if tracing.is_stopped(frame):  # a breakpoint came first: pydevd can't stop a thread twice
        _asked = False
        return
    while frame is not None and tracing.library(frame.f_code.co_filename):
        frame = frame.f_back
    # no frame: between two statements, or no cell runs; no line: the frame has just started
    if frame is None or not frame.f_lineno or not _asked:
        return
    _asked, before = False, _forgotten  # later signals have no effect
    tracing.mark_stopped()
    if _forgotten != before:  # as by a disconnection, which would not end this stop
        tracing.mark_running()
        return
    tracing.stay_in(frame)


async def ask_until_stopped(thread: int) -> None:
    """Repeat the signal until the main thread has stopped, or the pause is forgotten.

    Args:
        thread: `ident` of the main thread.
    """
    import asyncio  # not where a job's rank starts, which needs only `listen`

    wait = ASK_AGAIN_S
    while asked():
        await asyncio.sleep(wait)
        repeat(thread)
        wait = min(2 * wait, 1.0)
