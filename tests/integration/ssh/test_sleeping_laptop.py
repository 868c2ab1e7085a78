"""A notebook's machine that sleeps, while its world is elsewhere and goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from tests.faults import note
from tests.hosts import SLURM, need, running_hosts
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(120)]
SLEEPER = """
import sys
import dtrain_lab as dt
from dtrain_lab.backends.hosts import ssh_liveness
from dtrain_lab.services.connection import client_socket
ssh_liveness.ASLEEP_S, ssh_liveness.ANSWER_WITHIN_S = 1.0, 3.0
client_socket.HEARTBEAT_MS, client_socket.SILENT_MS = 1000, 3000
with dt.start("slept", ranks=2, name="slept") as cluster:
    result = cluster.run({code!r})
    print(result.stdout[0].split() == [str(i) for i in range({count})], flush=True)
"""
PRINTS = """
import pathlib, time
pathlib.Path({began!r}).touch()
for i in range({count}):
    print(i, flush=True)
    time.sleep(0.1)
pathlib.Path({ended!r}).touch()
"""


@pytest.mark.parametrize("way", ["through ssh", "directly"])
def test_a_machine_that_slept_and_has_another_address_has_all_that_was_printed(way: str) -> None:
    """What a lid that is closed for an hour does, but for the hour."""
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(1) as hosts, pytest.MonkeyPatch.context() as patch:
        hosts.start_ssh()
        patch.setenv("HOME", str(hosts.home()))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(hosts.root / "runtime"))
        if way == "directly":
            hosts.start_slurm()
            patch.setenv("SLURM_CONF", str(hosts.slurm_conf))
        write_profile(
            "slept",
            'backend = "ssh"\n[ssh]\nhosts = ["node1"]\n'
            if way == "through ssh"
            else f'backend = "slurm"\nworkdir = "{hosts.root}"\n',
        )
        began, ended, count = hosts.root / "began", hosts.root / "ended", 40
        code = PRINTS.format(began=str(began), ended=str(ended), count=count)
        words = [sys.executable, "-c", SLEEPER.format(code=code, count=count)]
        sleeper = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            wait_until(began.exists, 40, "the cell")
            sleeper.send_signal(signal.SIGSTOP)
            with hosts.moved():
                wait_until(ended.exists, 30, "the cell's end, which nobody hears of")
                sleeper.send_signal(signal.SIGCONT)
                woke = time.monotonic()
                out, _ = sleeper.communicate(timeout=60)
            assert out.split() == ["True"]
            note(
                f"the notebook's machine sleeps while a cell runs, then wakes with another address ({way})",
                "your notebook: no host answers 20 s after a sleep (here 3), or no heartbeat in 90 s (3)",
                "–",
                "everything: the cell has run to its end",
                "awake → all output received, the cluster stopped",
                time.monotonic() - woke,
            )
        finally:
            sleeper.kill()
            sleeper.communicate()
