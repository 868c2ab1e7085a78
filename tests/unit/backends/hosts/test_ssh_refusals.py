"""What is said of a host that can't be reached: a cause without error numbers, and what to do."""

from __future__ import annotations

import asyncio
import socket
import traceback

import pytest

from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.hosts.ssh_connections import _unreachable
from dtrain_lab.errors import DtrainError, SignInNeeded


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (
            socket.gaierror(-2, "Name or service not known"),
            'There is no host "gpu-9": its name can\'t be resolved.',
            "Correct it in the profile, or name its address in ~/.ssh/config. Try: ssh gpu-9",
        ),
        (
            socket.gaierror(-5, "No address associated with hostname"),
            'There is no host "gpu-9": its name can\'t be resolved.',
            "Correct it in the profile, or name its address in ~/.ssh/config. Try: ssh gpu-9",
        ),
        (
            socket.gaierror(-3, "Temporary failure in name resolution"),
            "gpu-9 can't be reached: its name can't be resolved now.",
            "Is this machine online, and its VPN up? Try: ssh gpu-9",
        ),
        (
            ConnectionRefusedError(111, "Connection refused"),
            "gpu-9 can't be reached: Connection refused.",
            "Try: ssh gpu-9",
        ),
        (OSError("Multiple exceptions"), "gpu-9 can't be reached: Multiple exceptions.", "Try: ssh gpu-9"),
    ],
)
def test_a_host_that_cannot_be_reached(error: OSError, message: str, hint: str) -> None:
    told = _unreachable("gpu-9", error)
    assert (told.message, told.hint) == (message, hint)


@pytest.mark.asyncio
async def test_a_refusal_that_is_kept_is_a_new_error_for_each_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(host: str, _: object) -> None:
        raise SignInNeeded(f"{host} refused the sign-in.", "Load your key.", details={"host": host})

    monkeypatch.setattr(ssh_connections, "_connect", refuse)
    monkeypatch.setattr(ssh_connections, "_refused", {})
    monkeypatch.setattr(ssh_connections, "_attempts", {})
    at_once = await asyncio.gather(
        *(ssh_connections.connection("gpu-9") for _ in range(2)), return_exceptions=True
    )
    later: list[BaseException] = []
    for _ in range(3):
        with pytest.raises(SignInNeeded) as refused:
            await ssh_connections.connection("gpu-9")
        later.append(refused.value)
    told = [*at_once, *later]
    assert len({id(error) for error in told}) == 5
    assert {(type(e), str(e), e.details["host"]) for e in told if isinstance(e, DtrainError)} == {
        (SignInNeeded, "gpu-9 refused the sign-in. Load your key.", "gpu-9")
    }
    assert len({len(traceback.extract_tb(error.__traceback__)) for error in later}) == 1
