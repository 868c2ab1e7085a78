"""Jupyter itself as a job of Slurm, as a hub starts it on compute nodes: a real server, reached over HTTP."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from tornado.ioloop import IOLoop
from tornado.websocket import websocket_connect

from dtrain_lab.wire.kinds import JOB_ENDED
from tests.books import write
from tests.hosts import SLURM, Hosts, need, running_hosts
from tests.integration.profiles import empty, write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(180)]
PORT = 8899
HUB = {"JUPYTERHUB_USER": "me", "JUPYTERHUB_SERVICE_PREFIX": "/user/me/", "PMI_RANK": "0", "PMIX_ID": "x"}
SECRETS = {"JUPYTERHUB_API_TOKEN": "canary-hub", "AWS_SECRET_ACCESS_KEY": "canary-aws"}
SHOW = (
    "import os, socket, torch, torch.distributed as dist\n"
    "t = torch.ones(1); dist.all_reduce(t)\n"
    "own = [k for k in os.environ if k.startswith(('SLURM', 'SRUN', 'PMI', 'JUPYTERHUB', 'AWS'))]\n"
    "print(socket.gethostname(), int(t), own, flush=True)"
)
JOB = (
    "import os\n"
    "print('NODES', os.environ['SLURM_JOB_NUM_NODES'], os.environ['SLURM_NTASKS_PER_NODE'],\n"
    "      os.environ['SLURM_CPUS_PER_TASK'], sorted(k for k in os.environ if 'HUB' in k or 'PMI' in k))"
)


class Jupyter:
    """A server that runs as a job, and its user's browser."""

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self.token = secrets.token_hex(8)
        self.at = f"{hosts.address('node1')}:{PORT}"
        config = hosts.root / "jupyter_server_config.json"
        script = hosts.root / "jupyter.sh"
        wanted = {
            "ServerApp": {"ip": "0.0.0.0", "port": PORT, "port_retries": 0, "allow_root": True},
            "IdentityProvider": {"token": self.token},
            "DtrainLabApp": {"poll_floor": 1},
        }
        config.write_text(json.dumps(wanted))
        config.chmod(0o600)
        script.write_text(
            "#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=1 --cpus-per-task=4 --mem=3000\n"
            f"#SBATCH --output={hosts.root}/jupyter.log\n"
            f"cd {hosts.root}/work\nexec {Path(sys.executable).parent}/jupyter-server --config={config}\n"
        )
        given = {**os.environ, **HUB, **SECRETS, "SLURM_CONF": str(hosts.slurm_conf)}
        self.job = subprocess.run(
            ["sbatch", "--parsable", str(script)], env=given, capture_output=True, text=True, check=True
        ).stdout.strip()
        wait_until(self._answers, 60, "Jupyter to answer")

    def _answers(self) -> bool:
        try:
            return bool(self.ask("GET", "api/status"))
        except (URLError, ConnectionError):
            return False

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One request, as the browser sends it."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"http://{self.at}/{path}", data, method=method)
        request.add_header("Authorization", f"token {self.token}")
        with urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def ended(self, job: str) -> Any:
        """A job, once it has ended."""
        found = self.ask("GET", f"dtrain-lab/jobs/{job}")
        return found if found["state"] in JOB_ENDED else None

    def run(self, kernel: str, code: str) -> str:
        """Run a cell in a kernel; returns what it prints, with its error where it fails."""
        return IOLoop.current().run_sync(lambda: self._run(kernel, code), timeout=90)

    async def _run(self, kernel: str, code: str) -> str:
        url = f"ws://{self.at}/api/kernels/{kernel}/channels?token={self.token}"
        channels = await websocket_connect(url)
        header = {"msg_id": uuid4().hex, "msg_type": "execute_request", "username": "", "session": "s"}
        content = {"code": code, "silent": False, "store_history": True, "stop_on_error": True}
        message = {"header": {**header, "version": "5.3"}, "parent_header": {}, "metadata": {}}
        await channels.write_message(json.dumps({**message, "content": content, "channel": "shell"}))
        text = ""
        while True:
            got = await channels.read_message()
            assert isinstance(got, str), got
            reply = json.loads(got)
            if reply["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            match reply["msg_type"]:
                case "stream":
                    text += reply["content"]["text"]
                case "error":
                    text += "\n".join(reply["content"]["traceback"])
                case "status" if reply["content"]["execution_state"] == "idle":
                    channels.close()
                    return text


@pytest.fixture
def jupyter() -> Iterator[Jupyter]:
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(2) as hosts, pytest.MonkeyPatch.context() as patch:
        hosts.start_ssh()
        hosts.start_slurm()
        home = hosts.home()
        patch.setenv("HOME", str(home))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(hosts.root / "runtime"))
        patch.setenv("SLURM_CONF", str(hosts.slurm_conf))
        work = hosts.root / "work"
        work.mkdir()
        common = f'backend = "slurm"\nworkdir = "{work}"\ncpus_per_rank = 1\n'
        write_profile("here", f'{common}[slurm]\nallocation = "current"\n')
        write_profile("queue", common)
        yield Jupyter(hosts)


def test_a_notebook_in_the_job_has_ranks_on_all_of_its_nodes_and_submits_another(jupyter: Jupyter) -> None:
    hosts = jupyter.hosts
    kernel = jupyter.ask("POST", "api/kernels", {"name": "python3"})["id"]
    started = jupyter.run(
        kernel,
        "%load_ext dtrain_lab\n%distributed start here --nodes 2 --ranks-per-node 1 --name inside",
    )
    assert "inside is ready: 2 ranks on 2 nodes" in started, started
    shown = jupyter.run(kernel, f"%%distributed\n{SHOW}")
    assert "node1 2 []" in shown, shown
    assert "node2 2 []" in shown, shown
    [cluster] = jupyter.ask("GET", "dtrain-lab/clusters")
    assert (cluster["state"], len(cluster["ranks"])) == ("ready", 2)
    queue = subprocess.run(["squeue", "-h", "-o", "%i"], capture_output=True, text=True, check=True).stdout
    assert queue.split() == [jupyter.job], "no allocation but its own"

    book = write(hosts.root / "work" / "job.ipynb", [JOB])
    asked = {"notebook": str(book.name), "profile": "queue", "nodes": 1, "ranks_per_node": 2}
    job = jupyter.ask("POST", "dtrain-lab/jobs", asked)
    ended = wait_until(lambda: jupyter.ended(job["id"]), 90, "the job's end")
    assert ended["state"] == "succeeded", ended["summary"]
    log = json.dumps(jupyter.ask("GET", f"dtrain-lab/jobs/{job['id']}/logs"))
    assert "NODES 1 2 1 []" in log, log

    subprocess.run(["scancel", jupyter.job], check=True)
    wait_until(lambda: empty(hosts, "node1") and empty(hosts, "node2"), 20, "everything of it to end")
