"""A real JupyterLab and the system's Chromium, both on loopback only."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import wait_until

TOKEN = "ui-test"
PATIENCE = float(os.environ.get("DTRAIN_TEST_PATIENCE", "1"))
"""Factor of times to wait: `python -m matrix` may share its machine with other work."""
ENDED = (404, 409, 502)
"""What is answered of a cluster or a job that ends, or has ended, meanwhile."""
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--no-first-run",
    # nothing but loopback resolves, whatever the page or the browser asks for
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]


class Lab:
    """A running JupyterLab."""

    def __init__(self, url: str, work: Path, environment: dict[str, str]) -> None:
        self.url = url
        self.work = work
        self.environment = environment

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Ask its REST interface; a path that begins with / is the server's own."""
        request = urllib.request.Request(
            f"{self.url}{path}" if path.startswith("/") else f"{self.url}/dtrain-lab/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {TOKEN}"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def tidy(self) -> None:
        """End what a test has left, also for its own second try: clusters, kernels, jobs, drafts.

        Its page is closed before: an open one saves its workspace again, and the next try would begin in it.
        """
        for cluster in self.request("GET", "clusters"):
            self._end("DELETE", f"clusters/{cluster['id']}")
        for session in self.request("GET", "/api/sessions"):
            self._end("DELETE", f"/api/sessions/{session['id']}")
        for workspace in self.request("GET", "/lab/api/workspaces")["workspaces"]["ids"]:
            self._end("DELETE", f"/lab/api/workspaces/{workspace}")
        for sweep in self.request("GET", "sweeps"):
            if "stop" in sweep["may"]:
                self.request("POST", f"sweeps/{sweep['id']}/stop")
        for job in self._jobs():
            if not job["ended_at"]:
                self._end("POST", f"jobs/{job['id']}/cancel")
        wait_until(lambda: all(job["ended_at"] for job in self._jobs()), 60, "its jobs to end")
        for job in self._jobs():
            self._end("DELETE", f"jobs/{job['id']}")

    def begin_again(self) -> None:
        """As after its start: nothing runs, no file, setting or profile is left. No page of it is open."""
        self.tidy()
        root = self.work.parent
        for folder in (self.work, root / "settings", root / "config" / "dtrain-lab" / "profiles"):
            for left in folder.iterdir() if folder.exists() else ():
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        keep_quiet(root)

    def _end(self, method: str, path: str) -> None:
        """Ask for the end of what was listed; it may have ended by itself since."""
        try:
            self.request(method, path)
        except urllib.error.HTTPError as error:
            if error.code not in ENDED:
                raise

    def _jobs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.request("GET", "jobs")
        return found

    def notebook(self, name: str, cells: list[str]) -> str:
        """Write a notebook of code cells; returns its path in the lab."""
        document = {
            "cells": [
                {
                    "cell_type": "code",
                    "id": f"cell-{index}",
                    "metadata": {},
                    "outputs": [],
                    "execution_count": None,
                    "source": source,
                }
                for index, source in enumerate(cells)
            ],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.work / name).write_text(json.dumps(document))
        return name


def chromium() -> str | None:
    """Path of the system's browser."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def keep_quiet(root: Path) -> None:
    """JupyterLab asks nobody for news, and no person whether it may."""
    quiet = root / "settings" / "@jupyterlab" / "apputils-extension"
    quiet.mkdir(parents=True)
    (quiet / "notification.jupyterlab-settings").write_text(
        '{"fetchNews": "false", "checkForUpdates": false}'
    )


@contextmanager
def run_lab(root: Path, *more: str, below: str = "") -> Iterator[Lab]:
    """Start JupyterLab with folders of its own.

    Args:
        root: Where they lie.
        more: Options of the command.
        below: Of its URL, such as "/node/HOST/{port}"; by default the root.
    """
    work = root / "work"
    work.mkdir(parents=True)
    keep_quiet(root)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base = below.format(port=port)
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(root / "config"),
        "JUPYTER_DATA_DIR": str(root / "data"),
        "JUPYTER_RUNTIME_DIR": str(root / "runtime"),
        "IPYTHONDIR": str(root / "ipython"),
        "JUPYTERLAB_SETTINGS_DIR": str(root / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(root / "workspaces"),
        "OMP_NUM_THREADS": "1",
    }
    log = (root / "lab.log").open("wb")
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            f"--ServerApp.base_url={base}/",
            "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={TOKEN}",
            f"--ServerApp.root_dir={work}",
            "--ServerApp.allow_unauthenticated_access=False",
            "--LabApp.extension_manager=readonly",
            "--LabApp.expose_app_in_browser=True",
            *more,
        ],
        cwd=work,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=environment,
    )
    lab = Lab(f"http://127.0.0.1:{port}{base}", work, environment)
    try:
        wait_until(lambda: _answers(lab, process, root), 60 * PATIENCE, "JupyterLab to answer")
        yield lab
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def _answers(lab: Lab, process: subprocess.Popen[bytes], root: Path) -> bool:
    assert process.poll() is None, (root / "lab.log").read_text()
    try:
        lab.request("GET", "site")
    except (urllib.error.URLError, ConnectionError):
        return False
    return True
