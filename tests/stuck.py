"""A test that its time limit can't end: the stacks of all threads are printed, and the tests break off.

pytest-timeout raises in the main thread, which never happens while that is in a call of C that doesn't
return, and it sets no limit to what comes behind a failure. faulthandler has a thread of its own, which needs
no GIL.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator
from typing import Any

import pytest

GRACE_S = 120.0
"""Time beyond a test's limit: it fails there, and its fixtures end their clusters."""
_stderr = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_stderr] = os.dup(2)  # the terminal's, before a test's output is captured


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_stderr])


def _limit(config: pytest.Config, seconds: float) -> None:
    faulthandler.dump_traceback_later(seconds + GRACE_S, exit=True, file=config.stash[_stderr])


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> Iterator[None]:
    _limit(item.config, settings.timeout)
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item) -> None:
    if not node.config.option.usepdb:  # both pytest and pytest-timeout have just taken their limits away
        _limit(node.config, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_enter_pdb() -> None:
    faulthandler.cancel_dump_traceback_later()
