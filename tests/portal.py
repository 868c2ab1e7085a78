"""A proxy as Open OnDemand's: /node/HOST/PORT/ is passed on whole, /rnode/HOST/PORT/ is cut off."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.hub import PROXY, free_ports
from tests.ui.lab import Lab, run_lab
from tests.waiting import wait_until


@contextmanager
def running_portal(root: Path, *, cut: bool = False) -> Iterator[Lab]:
    """Start a lab as OnDemand's batch script does; yields it with the portal's URL of it: hosts differ.

    Args:
        root: Where it keeps its files.
        cut: By /rnode/, which the server never sees: its base URL is "/".
    """
    front, api = free_ports(2)
    words = [shutil.which("node"), str(PROXY), "--ip=127.0.0.1", f"--port={front}", f"--api-port={api}"]
    if cut:
        words.append("--no-include-prefix")
    with pytest.MonkeyPatch.context() as patch:
        (root / "home").mkdir()
        patch.setenv("HOME", str(root / "home"))
        with run_lab(root, "--ServerApp.allow_origin=*", below="" if cut else "/node/node1/{port}") as lab:
            at = urlsplit(lab.url)
            path = f"/rnode/node1/{at.port}" if cut else at.path
            environment = {**os.environ, "CONFIGPROXY_AUTH_TOKEN": "portal"}
            # --change-origin: the server is asked by its own name, as by OnDemand's Apache
            proxy = subprocess.Popen([*words, "--change-origin"], env=environment, cwd=root)
            try:
                route = f"http://127.0.0.1:{api}/api/routes{path}"
                wait_until(lambda: _routed(route, f"http://{at.netloc}"), 30, "the proxy")
                yield Lab(f"http://127.0.0.1:{front}{path}", lab.work, lab.environment)
            finally:
                proxy.terminate()
                proxy.wait(20)


def _routed(route: str, target: str) -> bool:
    try:
        headers = {"Authorization": "token portal"}
        return requests.post(route, json={"target": target}, headers=headers, timeout=10).ok
    except requests.ConnectionError:
        return False
