"""How a cluster has ended, in words: the same in a cell's outcome, the panel and `status`."""

from __future__ import annotations

import time
from pathlib import PurePath
from typing import Any

from dtrain_lab.text.units import duration
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.summary import Summary

BY = {
    "server": " in JupyterLab",
    "terminal": " from a terminal",
    "python": " by a Python program",
    "shutdown": " with the Jupyter server",
}


def stopped_by(ending: Ending | None, notebook: str | None = None, now: float | None = None) -> str:
    """Return what follows "was stopped": by whom, and at what time by this machine's clock.

    Args:
        ending: The end; None if nothing is known of it.
        notebook: Path of the notebook that shows the text.
        now: Current time, in seconds since 1970; for an earlier day, the text names the day.

    Returns:
        Such as " by train.ipynb at 04:12"; empty if nothing is known.
    """
    if ending is None or not ending.at:
        return ""
    then = time.localtime(ending.at)
    if then[:3] == time.localtime(now)[:3]:
        at = time.strftime(" at %H:%M", then)
    else:
        at = time.strftime(f" on {then.tm_mday} %B at %H:%M", then)
    if ending.by == "idle":
        return f"{at}: it ran no cell for {duration(ending.idle_s)}"
    if ending.notebook is not None and ending.by == "kernel":
        who = "this notebook" if ending.notebook == notebook else PurePath(ending.notebook).name
        return f" by {who}{at}"
    return f"{BY.get(ending.by, '')}{at}"


def how(ending: Ending | None, notebook: str | None = None, now: float | None = None) -> str:
    """Return how a cluster has ended, after its name; arguments as of `stopped_by`.

    Returns:
        Such as "was stopped by train.ipynb at 04:12", "ended unexpectedly: its head process is gone".
    """
    if ending is not None and ending.by == "killed":
        log = f" (its log: {ending.log})" if ending.log else ""
        return f"ended unexpectedly: its head process is gone{log}"
    by = stopped_by(ending, notebook, now)
    return f"was stopped{by}" if by else "has ended"


def summary(ending: Ending) -> Summary:
    """Return the last state of a cluster whose end was noted."""
    if ending.by == "killed":
        text = "Ended unexpectedly: its head process is gone."
    else:
        text = f"Stopped{stopped_by(ending)}."
    return Summary("stopping", values(ending), text)


def values(ending: Ending | None) -> dict[str, Any]:
    """Return the same as a summary's values, for translation."""
    if ending is None or not (ending.at or ending.by):
        return {}
    named: dict[str, Any] = {"by": ending.by, **({"at": ending.at} if ending.at else {})}
    if ending.notebook is not None:
        named["notebook"] = PurePath(ending.notebook).name
    if ending.by == "idle":
        named["idle_s"] = ending.idle_s
    if ending.by == "killed":
        named["log"] = ending.log
    return named
