"""Real accounting for a Slurm of the tests: MariaDB and slurmdbd, in the hosts' folder, by a socket only."""

from __future__ import annotations

import os
import shutil
import subprocess

from tests.hosts import Hosts, run
from tests.waiting import wait_until

NEEDED = ("slurmdbd", "mariadbd", "mariadb-install-db")


def start(hosts: Hosts) -> str:
    """Start it, with the cluster in it; before Slurm.

    Returns:
        Lines for slurm.conf.
    """
    root = hosts.root
    data, client = root / "database", root / "database.socket"
    run("mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db",
        "--auth-root-authentication-method=normal")  # fmt: skip
    small = ["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"]
    mariadbd = shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin") or "mariadbd"
    hosts.start([mariadbd, "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={client}",
                 f"--pid-file={data}/pid", "--skip-networking", *small], "database.log")  # fmt: skip
    wait_until(client.exists, 20.0, "the database")
    port = 30_000 + os.getpid() % 2_000
    conf = root / "slurmdbd.conf"
    conf.write_text(
        f"AuthType=auth/munge\nAuthInfo=socket={hosts.munge}\nDbdHost=localhost\nDbdPort={port}\n"
        "SlurmUser=root\nStorageType=accounting_storage/mysql\nStorageHost=localhost\nStorageUser=root\n"
        f"StorageLoc=slurm\nLogFile={root}/slurmdbd.log\nPidFile={root}/slurmdbd.pid\n"
    )
    conf.chmod(0o600)
    lines = (
        "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\n"
        f"AccountingStoragePass={hosts.munge}\nAccountingStoragePort={port}\nAccountingStorageTRES=gres/gpu\n"
        "AccountingStorageEnforce=associations,limits,qos,safe\n"
    )
    # sacctmgr runs before the controller does, and needs to know where the database is
    early = f"ClusterName=dtl\nSlurmctldHost=localhost\nAuthType=auth/munge\nAuthInfo=socket={hosts.munge}\n"
    hosts.slurm_conf.write_text(early + lines)
    hosts.start(
        ["slurmdbd", "-D"], "slurmdbd.out", MYSQL_UNIX_PORT=str(client), SLURM_CONF=str(hosts.slurm_conf)
    )
    wait_until(lambda: _done(hosts, "add", "cluster", "dtl"), 20.0, "slurmdbd")
    return lines


def manage(hosts: Hosts, *words: str) -> None:
    """Change accounts, users or limits, and wait for nothing: the controller is told at once."""
    assert _done(hosts, *words), f"sacctmgr {' '.join(words)}"


def _done(hosts: Hosts, *words: str) -> bool:
    environment = {**os.environ, "SLURM_CONF": str(hosts.slurm_conf)}
    done = subprocess.run(["sacctmgr", "-i", "-Q", *words], env=environment, capture_output=True)
    return done.returncode == 0 or b"Nothing new added" in done.stdout
