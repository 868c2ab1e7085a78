"""Starts the process of a fork server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""From exec on, so that torch and numpy start no threads of their own, which a fork would lose."""


def start(arguments: list[str], environment: Mapping[str, str], **more: Any) -> subprocess.Popen[bytes]:
    """Start a fork server.

    Args:
        arguments: What it serves, see `__main__`.
        environment: Its variables, which its ranks inherit; a changed environment needs a new fork server.
        **more: Further arguments of `Popen`.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "dtrain_lab.node.forkserver", *arguments],
        stdin=subprocess.DEVNULL,
        env={**environment, **ONE_THREAD},
        **more,
    )
