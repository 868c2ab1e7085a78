"""The server that forwards a kernel's output: which limits a kernel keeps."""

from __future__ import annotations

import os

import pytest

from dtrain_lab.services.policy import parent_server, policy
from dtrain_lab.services.policy.parent_server import ParentServer
from dtrain_lab.wire.processes.settings import OutputLimits, ServerSettings


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)


def test_a_kernel_without_a_server_has_no_limits() -> None:
    assert parent_server.of_kernel() is None
    assert not parent_server.has_panel()


@pytest.mark.parametrize("pid", ["1", "", "none"])
def test_a_server_without_this_package_has_jupyters_own_limits(
    pid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_PARENT_PID", pid)
    assert parent_server.of_kernel() is None, "whoever started it reads its output"
    monkeypatch.setenv("JPY_SESSION_NAME", "/my/a.ipynb")
    assert parent_server.of_kernel() == ParentServer(OutputLimits(), extension=False)
    assert not parent_server.has_panel()


def test_a_server_of_ours_says_what_it_forwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_PARENT_PID", str(os.getpid()))
    limits = OutputLimits(bytes_per_s=7)
    try:
        policy.publish(ServerSettings(output=limits))
        assert parent_server.of_kernel() == ParentServer(limits, extension=True)
        assert parent_server.has_panel()
        policy._file(os.getpid()).write_bytes(b"{")
        assert parent_server.of_kernel() == ParentServer(OutputLimits(), extension=True)
    finally:
        policy.forget()
