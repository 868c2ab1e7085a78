"""The debugger of a notebook, as a person uses it."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any

from packaging.version import Version

HAS_NAMES = Version(version("jupyterlab")) >= Version("4.5")
"""Before that JupyterLab's own call stack names files only, and its breakpoints are text."""
POINT = ".cm-breakpoint-icon:visible" if HAS_NAMES else ".cm-gutterElement:visible:has-text('●')"


def execute(page: Any, command: str) -> None:
    page.evaluate("command => { void window.jupyterapp.commands.execute(command) }", command)


def toggle_breakpoint(page: Any, cell: Any, line: int) -> None:
    """A click in the gutter."""
    number = cell.locator(".cm-lineNumbers .cm-gutterElement").filter(has_text=re.compile(rf"^{line}$"))
    box = number.last.bounding_box()
    gutter = cell.locator(".cm-gutter.cm-breakpoint-gutter").first.bounding_box()
    page.mouse.click(gutter["x"] + gutter["width"] / 2, box["y"] + box["height"] / 2)


def stack(page: Any, line: int, count: int = 2) -> None:
    """The call stack's first frame stands at a line of the cell."""
    page.wait_for_function(
        """([line, count]) => {
            const frames = [...document.querySelectorAll('.jp-DebuggerCallstackFrame')];
            return frames.length === count && frames[0].innerText.trim().endsWith(`:${line}`);
        }""",
        arg=[line, count],
    )


def in_view(locator: Any) -> None:
    """It can be clicked where it stands: nothing covers it, and no edge cuts it."""
    locator.page.wait_for_function(
        """e => {
            const { left, right, top, bottom } = e.getBoundingClientRect();
            const at = document.elementFromPoint((left + right) / 2, bottom - 3);
            return top < bottom && e.contains(at);
        }""",
        arg=locator.element_handle(),
    )
