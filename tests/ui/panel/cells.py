"""A notebook beside the panel: run a cell, read its output."""

from __future__ import annotations

import re
from typing import Any

from tests.ui.lab import PATIENCE

TRAINING = re.compile(r"Training( on 2 ranks|\. Both ranks keep pace)\.")
"""On a busy machine it is not seen that ranks keep pace."""
RECORD_TOASTS = """() => {
  window.toasts = [];
  const seen = new Set();
  new MutationObserver(() => {
    for (const toast of document.querySelectorAll('.Toastify__toast')) {
      if (toast.textContent && !seen.has(toast)) {
        seen.add(toast);
        window.toasts.push(toast.textContent);
      }
    }
  }).observe(document.body, { childList: true, subtree: true });
}"""
"""Keeps the text of every toast: one disappears by itself, perhaps before a busy machine has looked."""


class Panel:
    """The sidebar, as a user finds it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.node = page.get_by_role("region", name="Distributed training")

    def says(self, sentence: str | re.Pattern[str], within_s: float = 40) -> None:
        self.node.locator(".jp-DtrainUi-sentence", has_text=sentence).wait_for(
            timeout=within_s * PATIENCE * 1e3
        )

    def press(self, name: str) -> None:
        self.node.get_by_role("button", name=name, exact=True).click()

    def figure(self, name: str) -> str:
        found: str = self.node.locator(f"[data-metric={name}]").inner_text()
        return found


def run_cell(page: Any, index: int) -> None:
    page.locator(".jp-Notebook .jp-CodeCell").nth(index).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")


def output(page: Any, index: int) -> Any:
    return page.locator(".jp-Notebook .jp-CodeCell").nth(index).locator(".jp-DtrainOutput")


def fits(panel: Panel) -> bool:
    """Nothing is cut off sideways."""
    return bool(panel.node.evaluate("e => e.scrollWidth <= e.clientWidth"))
