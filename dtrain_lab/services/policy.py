"""The administrator's policy, as the server has put it into its own and its kernels' environment."""

from __future__ import annotations

import os

import msgspec

from dtrain_lab.core.policy import Policy

VARIABLE = "DTRAIN_LAB_POLICY"


def current() -> Policy:
    """What holds for this process."""
    text = os.environ.get(VARIABLE)
    return msgspec.json.decode(text, type=Policy) if text else Policy()


def hold(policy: Policy) -> None:
    """From here on, and for every process started from here."""
    os.environ[VARIABLE] = msgspec.json.encode(policy).decode()
    os.environ.setdefault("DTRAIN_LAB_POLL_FLOOR_S", str(policy.poll_floor_s))
