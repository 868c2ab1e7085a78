"""The form that submits a notebook, as a person uses it."""

from __future__ import annotations

from typing import Any


def fill(page: Any, label: str, value: str) -> None:
    page.locator(".jp-DtrainJob-submitForm").get_by_label(label, exact=True).fill(value)


def submit(page: Any) -> Any:
    """Press Submit once the check allows it; the view of the job."""
    bar = page.locator(".jp-DtrainJob-submitBar:visible")
    bar.locator("button[aria-disabled='false']").click()
    view = page.locator(".jp-DtrainJob-view:visible")
    view.locator(".jp-DtrainJob-head").wait_for()
    return view
