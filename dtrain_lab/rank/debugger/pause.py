"""A pause of the main thread where it is, also in a call that waits: a signal runs its handler there.

pydevd's own pause stops all threads, and whichever reaches a line first counts: while the main thread sleeps,
that is another one, such as tqdm's monitor. It also waits for a line, which a cell's last statement lacks.
"""

from __future__ import annotations

import signal
from types import FrameType

from dtrain_lab.rank.debugger import tracing

SIGNAL = signal.SIGURG
"""Ignored where nobody handles it; Python and torch use it for nothing."""
_asked = False
"""A plain value: the handler of a signal may be interrupted by another one, and must hold no lock."""
_forgotten = 0
"""How often a pause was taken back."""


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
    """Send the signal once more. A thread that has stopped since it was asked takes no notice of that."""
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
    if tracing.is_stopped(frame):  # at a breakpoint, since it was asked: pydevd can't stop a thread twice
        _asked = False
        return
    while frame is not None and tracing.library(frame.f_code.co_filename):
        frame = frame.f_back
    # without a frame it is between two statements, or no cell runs; a frame that begins is at no line yet
    if frame is None or not frame.f_lineno or not _asked:
        return
    _asked, before = False, _forgotten  # from here on another signal stops nobody
    tracing.mark_stopped()
    if _forgotten != before:  # such as by a disconnection, which would not end this stop
        tracing.mark_running()
        return
    tracing.stay_in(frame)
