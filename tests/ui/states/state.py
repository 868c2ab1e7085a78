"""A state of the screens: how it is brought about, and what of it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.ui.states.stage import Stage

PANEL = "#dtrain-lab-panel"
NOTEBOOK = ".jp-NotebookPanel:not(.lm-mod-hidden)"
VIEW = ".jp-DtrainUi-view:not(.lm-mod-hidden)"
STATUS = "#jp-main-statusbar .jp-DtrainStatus"
DEBUGGER = "#jp-debugger-sidebar"


@dataclass(frozen=True)
class State:
    """One state. The first letter of its name is the picture that it belongs to.

    Args:
        name: also of its files.
        show: brings it about on the stage, and waits until it is seen.
        part: what is checked, a CSS selector each.
        pinned: the first of `part` has a baseline, pixel by pixel.
        beside: what has a baseline of its own beside it, a CSS selector.
        contrast: shown in high contrast, too, where the sheet is made.
        focused: where the focus is belongs to it; else nothing has the focus when it is looked at.
    """

    name: str
    show: Callable[[Stage], None]
    part: tuple[str, ...] = (PANEL,)
    pinned: bool = False
    beside: str = ""
    contrast: bool = False
    focused: bool = False
