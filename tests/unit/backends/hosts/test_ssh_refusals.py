"""What is said of a host that can't be reached: a cause without error numbers, and what to do."""

from __future__ import annotations

import socket

import pytest

from dtrain_lab.backends.hosts.ssh_connections import _unreachable


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
