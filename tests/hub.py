"""A real JupyterHub with its proxy, on loopback: `make hub` installs both, apart from our own packages."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from tests.waiting import wait_until

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv" / "hub" / "bin" / "python"
PROXY = ROOT / ".venv" / "hub" / "node_modules" / ".bin" / "configurable-http-proxy"
USERS = {"ann.b@x.org": 21001, "bob": 21002}
"""Users, and the numbers that the system knows them by where the tests run as root."""
SHARE = ROOT / ".venv" / "share" / "jupyter"
CONFIG = """
import os
from jupyterhub.spawner import SimpleLocalProcessSpawner

given = {given!r}

class Spawner(SimpleLocalProcessSpawner):
    "Servers on this machine: each user has a home, and a number where the hub runs as root."

    home_dir_template = given["homes"] + "/{{username}}"

    def user_env(self, env):
        return super().user_env(env) | given["environment"]

    def make_preexec_fn(self, name):
        home = self.home_dir
        os.makedirs(home, 0o700, exist_ok=True)
        number = given["numbers"].get(name)
        if number:
            os.chown(home, number, number)
            self.popen_kwargs = dict(user=number, group=number, extra_groups=[])
        return lambda: os.chdir(home)

c.JupyterHub.spawner_class = Spawner
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = given["password"]
c.Authenticator.allowed_users = set(given["users"])
c.JupyterHub.bind_url = given["url"]
c.JupyterHub.hub_port = given["ports"][1]
c.JupyterHub.db_url = "sqlite:///" + given["folder"] + "/hub.sqlite"
c.JupyterHub.cookie_secret_file = given["folder"] + "/cookie"
c.ConfigurableHTTPProxy.command = given["proxy"]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:%d" % given["ports"][2]
c.ConfigurableHTTPProxy.pid_file = given["folder"] + "/proxy.pid"
c.Spawner.cmd = [given["python"], "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--allow-root", "--LabApp.expose_app_in_browser=True"]
c.Spawner.default_url = "/lab"
c.Spawner.notebook_dir = "~"
c.Spawner.http_timeout = c.Spawner.start_timeout = 90
c.JupyterHub.services = [dict(name="tests", api_token=given["token"])]
c.JupyterHub.load_roles = [
    dict(name="tests", services=["tests"], scopes=["admin:users", "admin:servers", "tokens", "list:users"])
]
"""
# Opens a folder on the way to Python that is closed to other users, in a mount namespace.
OPENED = """
set -e
closed=$1; kept=$2; shift 2
mkdir -p "$kept"
mount --bind "$closed/$1" "$kept"
mount -t tmpfs -o mode=755 none "$closed"
mkdir "$closed/$1"
mount --move "$kept" "$closed/$1"
shift
exec "$@"
"""


def missing() -> str | None:
    """Say what a hub lacks on this machine; None where all is there."""
    return None if PYTHON.exists() and PROXY.exists() else "NO JUPYTERHUB: make hub"


@dataclass
class Hub:
    """A running hub."""

    url: str
    homes: Path
    password: str
    token: str
    words: list[str] | None
    """Before a command that other users of the system run; None where all servers run as one."""
    tokens: dict[str, str] = field(default_factory=dict)

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the hub itself, as an administrator's service does."""
        answer = requests.request(
            method, f"{self.url}/hub/api/{path}", json=body, timeout=60,
            headers={"Authorization": f"token {self.token}"},
        )  # fmt: skip
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def at(self, user: str) -> str:
        """URL of a user's server, as the hub makes it."""
        return f"{self.url}/user/{quote(user, safe='@')}"

    def admit(self, user: str) -> None:
        """Have a user, and a token by which tests ask their server."""
        name = quote(user)
        if user not in self.tokens:
            if not [u for u in self.api("GET", "users") if u["name"] == user]:
                self.api("POST", f"users/{name}")
            self.tokens[user] = self.api("POST", f"users/{name}/tokens")["token"]

    def start(self, user: str) -> None:
        """Start a user's server, and wait until it answers."""
        self.admit(user)
        self.api("POST", f"users/{quote(user)}/server")
        wait_until(lambda: self._ready(user), 90, f"the server of {user}")

    def stop(self, user: str) -> None:
        """Stop a user's server, as a culler does."""
        self.api("DELETE", f"users/{quote(user)}/server")
        wait_until(lambda: not self.api("GET", f"users/{quote(user)}")["servers"], 60, "the server to stop")

    def ask(self, user: str, method: str, path: str, body: Any = None, *, by: str = "") -> requests.Response:
        """Ask a user's server below `dtrain-lab/`, or below its root for a path that begins with /.

        Args:
            user: Whose server.
            method: Of HTTP.
            path: What is asked for.
            body: Sent as JSON.
            by: Who asks; the user by default.
        """
        below = path if path.startswith("/") else f"/dtrain-lab/{path}"
        return requests.request(
            method, f"{self.at(user)}{below}", json=body, timeout=60, allow_redirects=False,
            headers={"Authorization": f"token {self.tokens[by or user]}"},
        )  # fmt: skip

    def get(self, user: str, path: str) -> Any:
        """What a user's server answers."""
        answer = self.ask(user, "GET", path)
        answer.raise_for_status()
        return answer.json()

    def run_as(self, user: str, code: str, *arguments: str) -> str:
        """What a program prints that a user of the system runs."""
        number = USERS[user]
        other = ["setpriv", f"--reuid={number}", f"--regid={number}", "--clear-groups", str(PYTHON), "-c"]
        words = [*(self.words or ()), *other, code, *arguments]
        return subprocess.run(words, capture_output=True, text=True, check=True, cwd="/").stdout

    def _ready(self, user: str) -> bool:
        servers = self.api("GET", f"users/{quote(user)}")["servers"]
        return bool(servers and servers[""]["ready"])


@contextmanager
def running_hub(folder: Path, prefix: str = "") -> Iterator[Hub]:
    """Start a hub with its proxy, below a prefix of its URL.

    Args:
        folder: Where it keeps its own files.
        prefix: Such as "/at/lab"; empty for the root.
    """
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="hub-") as homes:
        Path(homes).chmod(0o755)
        (Path(homes) / "run").mkdir()
        (Path(homes) / "run").chmod(0o1777)
        words = opened()
        ports = free_ports(3)
        given = {
            "folder": str(folder),
            "homes": homes,
            "ports": ports,
            "url": f"http://127.0.0.1:{ports[0]}{prefix}/",
            "users": list(USERS),
            "numbers": USERS if words is not None else {},
            "password": secrets.token_hex(8),
            "token": secrets.token_hex(16),
            "python": str(PYTHON),
            "proxy": [shutil.which("node"), str(PROXY)],
            "environment": {
                "JUPYTER_PATH": str(SHARE),
                "JUPYTER_CONFIG_PATH": str(ROOT / ".venv" / "etc" / "jupyter"),
                "JUPYTERLAB_DIR": str(SHARE / "lab"),
                "JUPYTER_PLATFORM_DIRS": "1",
                "OMP_NUM_THREADS": "1",
                "DTRAIN_LAB_RUNTIME_DIR": f"{homes}/run",
            },
        }
        (folder / "config.py").write_text(CONFIG.format(given=given))
        log = (folder / "hub.log").open("wb")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "DTRAIN", "IPYTHON"))}
        process = subprocess.Popen(
            [*(words or ()), str(PYTHON), "-m", "jupyterhub", "-f", "config.py"],
            cwd=folder, env=kept, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        base = str(given["url"]).rstrip("/")
        hub = Hub(base, Path(homes), str(given["password"]), str(given["token"]), words)
        try:
            wait_until(lambda: _answers(hub, process, folder), 60, "the hub to answer")
            yield hub
        finally:
            process.terminate()  # it ends its servers and its proxy
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            log.close()


def opened() -> list[str] | None:
    """Words before a command by which other users can run our Python; None where they can't."""
    if os.getuid():
        return None
    base = Path(sys.base_prefix).resolve()
    closed = next((p for p in reversed(base.parents) if not p.stat().st_mode & 0o001), None)
    words: list[str] = []
    if closed is not None:
        kept = tempfile.mkdtemp(dir="/tmp", prefix="hub-kept-")
        inner = str(base.relative_to(closed).parts[0])
        words = ["unshare", "--mount", "sh", "-c", OPENED, "sh", str(closed), kept, inner]
    other = ["setpriv", "--reuid=21001", "--regid=21001", "--clear-groups", str(PYTHON), "-c", "import torch"]
    tried = subprocess.run([*words, *other], capture_output=True, cwd="/", env={"PATH": os.environ["PATH"]})
    return words if tried.returncode == 0 else None


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def sign_in(hub: Hub, user: str) -> requests.Session:
    """A browser's cookies, by the hub's own form and the user's server."""
    session = requests.Session()
    form = session.get(f"{hub.url}/hub/login", timeout=60)
    form.raise_for_status()
    given = {"username": user, "password": hub.password, "_xsrf": session.cookies["_xsrf"]}
    session.post(f"{hub.url}/hub/login", data=given, timeout=60).raise_for_status()
    session.get(f"{hub.at(user)}/lab", timeout=60).raise_for_status()
    return session


def _answers(hub: Hub, process: subprocess.Popen[bytes], folder: Path) -> bool:
    assert process.poll() is None, (folder / "hub.log").read_text()
    try:
        return bool(hub.api("GET", "")["version"])
    except (requests.RequestException, json.JSONDecodeError):
        return False
