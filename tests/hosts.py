"""Real hosts on one machine: network namespaces with sshd in them, and a Slurm cluster over them.

Each host is a network, UTS and mount namespace with an address, a name, /etc/hosts and a home folder of its
own. They share the machine's file system, as nodes share a cluster's. Needs root, iproute2, openssh-server,
and for Slurm slurmctld, slurmd, slurm-client and munge. Everything is ended by pid and removed with the test.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Literal

import psutil
import pytest

from dtrain_lab.machine.folders import RUNTIME_VARIABLE, slots_folder
from dtrain_lab.services.policy import backends
from tests.waiting import wait_until

SSH_PORT = 2222
_made = count()
"""The kernel removes the cables of hosts that are gone a moment later: the next hosts have other names."""
LOW = "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nSlurmctldParameters=preempt_send_user_signal\n"
SLURM = ("slurmctld", "slurmd", "sbatch", "munged")


def run(*command: str) -> str:
    """Run a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


def need(*programs: str) -> None:
    """Skip, loudly, where hosts can't be made."""
    missing = [
        p for p in ("ip", *programs) if shutil.which(p, path=f"{os.environ['PATH']}:/usr/sbin") is None
    ]
    if os.getuid() != 0 or missing:
        why = f"{', '.join(missing)} missing" if missing else "not root"
        pytest.skip(
            f"NO HOSTS ({why}): tests over several machines did not run; see tests/system_packages.sh"
        )


class Hosts:
    """Some hosts on a bridge of their own.

    Args:
        root: folder for keys, logs and homes.
        count: how many hosts.
        version: of the Internet Protocol that they speak on the bridge, and no other.
    """

    def __init__(self, root: Path, count: int, version: Literal[4, 6] = 4) -> None:
        self.root = root
        self.version = version
        self.names = [f"node{index + 1}" for index in range(count)]
        # a network and names that no other test run of this machine has
        self._tag = f"{os.getpid() % 1000:03d}{next(_made) % 10}"
        tens, ones = 200 + os.getpid() % 50, os.getpid() // 50 % 250
        self._net = f"10.{tens}.{ones}." if version == 4 else f"fd00:{tens}:{ones}::"
        self._bits = 24 if version == 4 else 64
        self._daemons: list[subprocess.Popen[bytes]] = []
        self.slurm_conf = root / "slurm.conf"
        self.ssh_config = root / "ssh_config"
        self.own: str | None = None
        """A folder that each daemon of each host has for itself; set before they start."""
        self.variables: dict[str, dict[str, str]] = {}
        """Host → variables of what is run there by ssh; set before sshd starts."""

    def address(self, name: str) -> str:
        """Address of a host on the bridge."""
        return f"{self._net}{11 + self.names.index(name)}"

    def namespace(self, name: str) -> str:
        """Name of a host's network namespace."""
        return f"dtl{self._tag}-{name}"

    def link(self, name: str) -> str:
        """Name of the cable's end on this machine: down, and the host is silent."""
        return f"dtl{self._tag}v{self.names.index(name)}"

    def up(self) -> None:
        """Make the network."""
        self.root.chmod(0o755)
        bridge = f"dtl{self._tag}"
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "addr", "add", f"{self.gateway}/{self._bits}", "dev", bridge, *self._known_free)
        run("ip", "link", "set", bridge, "up")
        here = socket.gethostname().split(".")[0]
        lines = [f"{self.address(name)} {name}" for name in self.names]
        (self.root / "hosts").write_text(
            "\n".join(["127.0.0.1 localhost", f"{self.gateway} {here}", *lines, ""])
        )
        for index, name in enumerate(self.names):
            space = self.namespace(name)
            # interfaces have another name on each host, and an identical decoy
            inside = ("eth0", "ens3", "enp1s0", "eno4")[index % 4]
            run("ip", "netns", "add", space)
            outside = self.link(name)
            run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", space)
            run("ip", "link", "set", outside, "master", bridge, "up")
            run("ip", "-n", space, "link", "set", "lo", "up")
            own = f"{self.address(name)}/{self._bits}"
            run("ip", "-n", space, "addr", "add", own, "dev", inside, *self._known_free)
            run("ip", "-n", space, "link", "set", inside, "up")
            run("ip", "-n", space, "link", "add", "docker0", "type", "veth", "peer", "name", "inner0")
            run("ip", "-n", space, "link", "set", "inner0", "up")
            run("ip", "-n", space, "addr", "add", "172.17.0.1/16", "dev", "docker0")
            run("ip", "-n", space, "link", "set", "docker0", "up")
            (self.root / name / "home").mkdir(parents=True)
            passwd = Path("/etc/passwd").read_text()
            home = f"{self.root}/{name}/home"
            (self.root / name / "passwd").write_text(
                re.sub(r"(?m)^(root:(?:[^:]*:){4})[^:]*", rf"\g<1>{home}", passwd)
            )

    def interface(self, name: str) -> str:
        """Name of a host's interface on the bridge."""
        return ("eth0", "ens3", "enp1s0", "eno4")[self.names.index(name) % 4]

    @contextmanager
    def second_network(self) -> Iterator[dict[str, str]]:
        """A cable between the first two hosts, which ranks prefer to the bridge; yields its end on each."""
        ends = dict(zip(self.names, ("ib0", "ibs1"), strict=False))
        (first, second), (here, there) = map(self.namespace, ends), ends.values()
        run("ip", "-n", first, "link", "add", here, "type", "veth", "peer", "name", there, "netns", second)
        try:
            for index, (name, end) in enumerate(ends.items(), start=1):
                run("ip", "-n", self.namespace(name), "addr", "add", f"192.168.77.{index}/24", "dev", end)
                run("ip", "-n", self.namespace(name), "link", "set", end, "up")
            for name, end in ends.items():  # the kernel finds the carrier in the background
                wait_until(lambda n=name, e=end: self._runs(n, e), 10, f"{end} of {name} to be in operation")
            yield ends
        finally:
            run("ip", "-n", first, "link", "del", here)

    def _runs(self, name: str, interface: str) -> bool:
        """Whether an interface is up and has a carrier: without one, ranks take it for down."""
        return "state UP" in run("ip", "-n", self.namespace(name), "-o", "link", "show", "dev", interface)

    def inside(self, name: str, *command: str) -> list[str]:
        """A command as it runs on a host."""
        here, slots = self.root / name, slots_folder()
        script = (
            f"hostname {name} && mount --bind {self.root}/hosts /etc/hosts && "
            f"mount --bind {here}/passwd /etc/passwd && "
            # tickets for slots are a machine's
            + f"mkdir -p -m 700 {slots} && mount -t tmpfs -o mode=700 none {slots} && "
            + (f"mount -t tmpfs none {self.own} && " if self.own else "")
            + 'exec "$@"'
        )
        unshare = ["unshare", "--uts", "--mount", "sh", "-c", script, "sh"]
        return ["ip", "netns", "exec", self.namespace(name), *unshare, *command]

    def start(self, command: Sequence[str], log: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a daemon that ends with the test."""
        with (self.root / log).open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, **environment},
            )
        self._daemons.append(process)
        return process

    def start_ssh(self) -> None:
        """Start an sshd on each host, with a key that is let in and a host key that is known."""
        Path("/run/sshd").mkdir(exist_ok=True)
        for name in ("id_ed25519", "host_key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.root / name))
        public = " ".join((self.root / "host_key.pub").read_text().split()[:2])
        known, config = [], []
        given = os.environ.get(RUNTIME_VARIABLE)
        runtime = f" {RUNTIME_VARIABLE}={given}" if given else ""
        for name in self.names:
            address = self.address(name)
            more = "".join(f" {k}={v}" for k, v in self.variables.get(name, {}).items())
            known.append(f"[{address}]:{SSH_PORT},[{name}]:{SSH_PORT} {public}\n")
            config.append(
                f"Host {name}\n  HostName {address}\n  Port {SSH_PORT}\n  User root\n"
                f"  IdentityFile {self.root}/id_ed25519\n  UserKnownHostsFile {self.root}/known_hosts\n"
            )
            shutil.copy(self.root / "id_ed25519.pub", self.root / name / "authorized_keys")
            (self.root / name / "sshd_config").write_text(
                f"Port {SSH_PORT}\nListenAddress {address}\nHostKey {self.root}/host_key\nPidFile none\n"
                f"UsePAM no\nAuthorizedKeysFile {self.root}/{name}/authorized_keys\nPermitRootLogin yes\n"
                f"PasswordAuthentication no\nStrictModes no\nMaxStartups 100\n"
                f"SetEnv SLURM_CONF={self.slurm_conf} OMP_NUM_THREADS=1{runtime}{more}\n"
            )
            home = {"HOME": str(self.root / name / "home")}
            daemon = self.inside(name, "/usr/sbin/sshd", "-D", "-e", "-f", f"{self.root}/{name}/sshd_config")
            self.start(daemon, f"{name}/sshd.log", **home)
        (self.root / "known_hosts").write_text("".join(known))
        self.ssh_config.write_text("".join(config))
        for name in self.names:
            wait_until(partial(self._listens, name), 10.0, f"sshd on {name}")

    def home(self) -> Path:
        """Make a home folder; its ssh knows the hosts, where `start_ssh` is over."""
        made = self.root / "home"
        (made / ".ssh").mkdir(parents=True)
        if self.ssh_config.exists():
            (made / ".ssh" / "config").write_text(self.ssh_config.read_text())
        return made

    @property
    def munge(self) -> Path:
        """The socket by which Slurm's processes know each other."""
        return self.root / "munge.socket"

    def start_munge(self) -> None:
        """Start munge, with a key of its own."""
        munge = self.root / "munge"
        munge.mkdir(mode=0o700)
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o400)
        options = [f"--socket={self.munge}", f"--key-file={munge}/key", f"--log-file={munge}/log"]
        options += [f"--pid-file={munge}/pid", f"--seed-file={munge}/seed", "--num-threads=2"]
        self.start(["munged", "-F", "--force", *options], "munged.log")
        wait_until(self.munge.exists, 10.0, "munged")

    def start_slurm(
        self, gpus: int = 0, cpus: int = 8, *, low: bool = False, accounting: str | None = None
    ) -> None:
        """Start munge, the controller here and a slurmd on each host; wait until all are idle.

        Args:
            gpus: of each host, by name only.
            cpus: of each host.
            low: jobs of the partition of that name make room for all others, 3 s after they were warned.
            accounting: lines of `tests.accounting`; munge runs then already.
        """
        root = self.root
        if accounting is None:
            self.start_munge()
            accounting = "AccountingStorageType=accounting_storage/none\n"
        (root / "mail").write_text(f'#!/bin/sh\necho "$@" >> {root}/mailed\n')
        (root / "mail").chmod(0o755)
        (root / "state").mkdir()
        gres = f"Gres=gpu:{gpus} " if gpus else ""
        nodes = "\n".join(
            f"NodeName={n} NodeHostname={n} NodeAddr={self.address(n)} CPUs={cpus} RealMemory=8000 {gres}"
            "State=UNKNOWN"
            for n in self.names
        )
        for index in range(gpus):
            (root / f"gpu{index}").touch()
        if gpus:
            files = f"{root}/gpu[0-{gpus - 1}]" if gpus > 1 else f"{root}/gpu0"
            (root / "gres.conf").write_text(f"NodeName={','.join(self.names)} Name=gpu File={files}\n")
        cgroup2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
        (root / "cgroup.conf").write_text("" if cgroup2 else "CgroupPlugin=cgroup/v1\n")
        here = socket.gethostname().split(".")[0]
        self.slurm_conf.write_text(
            f"ClusterName=dtl\nSlurmctldHost={here}({self.gateway})\n"
            f"SlurmctldPort={20_000 + os.getpid() % 10_000}\nSlurmUser=root\nSlurmdUser=root\n"
            f"AuthType=auth/munge\nAuthInfo=socket={self.munge}\nCredType=cred/munge\n"
            f"StateSaveLocation={root}/state\nSlurmdSpoolDir={root}/%n/spool\n"
            f"SlurmctldPidFile={root}/slurmctld.pid\nSlurmdPidFile={root}/%n/slurmd.pid\n"
            f"SlurmctldLogFile={root}/slurmctld.log\nSlurmdLogFile={root}/%n/slurmd.log\n"
            "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n"
            f"{accounting}MpiDefault=none\nSwitchType=switch/none\n"
            "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\n"
            "SlurmdParameters=config_overrides\nSchedulerType=sched/backfill\n"
            "SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0\n"
            "PriorityType=priority/basic\nReturnToService=2\nMinJobAge=300\nKillWait=3\nInactiveLimit=0\n"
            f"MailProg={root}/mail\n"
            f"{LOW if low else ''}"
            f"{'CommunicationParameters=EnableIPv6,DisableIPv4' if self.version == 6 else ''}\n"
            f"DefMemPerCPU=100\n{'GresTypes=gpu' if gpus else ''}\n{nodes}\n"
            "PartitionName=main Nodes=ALL Default=YES MaxTime=01:00:00 State=UP\n"
            f"PartitionName=short Nodes={self.names[0]} MaxTime=00:05:00 State=UP\n"
            f"{'PartitionName=low Nodes=ALL PriorityTier=0 GraceTime=10 State=UP' if low else ''}\n"
        )
        for name in self.names:
            (root / name / "spool").mkdir()
        conf = {"SLURM_CONF": str(self.slurm_conf)}
        self.start(["slurmctld", "-D", "-i"], "slurmctld.log", **conf)
        for name in self.names:
            home = {"HOME": str(root / name / "home")}
            self.start(self.inside(name, "slurmd", "-D", "-N", name), f"{name}/slurmd.log", **conf, **home)
        wait_until(self._idle, 20.0, "all nodes to be idle")

    @contextmanager
    def moved(self) -> Iterator[None]:
        """This machine has another address: connections from the old one hear nothing any more."""
        ours, other = f"{self.gateway}/{self._bits}", f"{self._net}2/{self._bits}"
        self._change(ours, other)
        try:
            yield
        finally:
            self._change(other, ours)

    def _change(self, before: str, after: str) -> None:
        run("ip", "addr", "del", before, "dev", f"dtl{self._tag}")
        run("ip", "addr", "add", after, "dev", f"dtl{self._tag}", *self._known_free)

    def processes(self, name: str) -> list[psutil.Process]:
        """What runs on a host."""
        listed = subprocess.run(["ip", "netns", "pids", self.namespace(name)], capture_output=True, text=True)
        found = []
        for pid in listed.stdout.split():
            with suppress(psutil.NoSuchProcess):  # it has ended since
                found.append(psutil.Process(int(pid)))
        return found

    def running(self, name: str, word: str = "dtrain_lab") -> list[psutil.Process]:
        """What runs on a host with a word on its command line."""
        return [p for p in self.processes(name) if word in " ".join(command_line(p))]

    def down(self) -> None:
        """End all that runs on the hosts, and remove them."""
        if self.slurm_conf.exists():
            environment = {**os.environ, "SLURM_CONF": str(self.slurm_conf)}
            subprocess.run(["scancel", "-f", "-u", "root"], env=environment, capture_output=True)
        left = [p for name in self.names for p in self.processes(name)]
        left += [psutil.Process(d.pid) for d in self._daemons if d.poll() is None]
        for process in left:
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(left, timeout=10)
        for daemon in self._daemons:
            daemon.wait(timeout=10)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", self.namespace(name)], capture_output=True)
        subprocess.run(["ip", "link", "del", f"dtl{self._tag}"], capture_output=True)

    def _listens(self, name: str) -> bool:
        with socket.socket(socket.AF_INET if self.version == 4 else socket.AF_INET6) as probe:
            probe.settimeout(0.2)
            return probe.connect_ex((self.address(name), SSH_PORT)) == 0

    def slurm(self, *command: str) -> str:
        """Output of one of Slurm's commands."""
        environment = {**os.environ, "SLURM_CONF": str(self.slurm_conf)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    def wait_until_idle(self) -> None:
        """No job is left on any node."""
        wait_until(self._idle, 60.0, "all nodes to be idle")

    @property
    def gateway(self) -> str:
        """This machine's address on the bridge."""
        return f"{self._net}1"

    @property
    def _known_free(self) -> list[str]:
        """Nobody else can have the address: no second's wait to find that out."""
        return ["nodad"] if self.version == 6 else []

    def _idle(self) -> bool:
        environment = {**os.environ, "SLURM_CONF": str(self.slurm_conf)}
        command = ["sinfo", "-h", "-N", "-p", "main", "-o", "%T"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return done.returncode == 0 and done.stdout.split() == ["idle"] * len(self.names)


@contextmanager
def running_hosts(count: int, version: Literal[4, 6] = 4) -> Iterator[Hosts]:
    """Hosts that are gone afterwards."""
    root = Path(tempfile.mkdtemp(prefix="dtl-hosts-", dir="/tmp"))
    hosts = Hosts(root, count, version)
    try:
        hosts.up()
        yield hosts
    finally:
        hosts.down()
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def on_login_node(hosts: Hosts, **variables: str) -> Iterator[Path]:
    """This process has a home beside the hosts, and asks their Slurm every second.

    Args:
        hosts: where Slurm runs.
        variables: what else its environment has.

    Yields:
        A folder that all nodes share, for jobs.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(hosts.home()))
        patch.setenv("SLURM_CONF", str(hosts.slurm_conf))
        patch.setenv("DTRAIN_LAB_POLL_FLOOR_S", "1")
        for name, value in variables.items():
            patch.setenv(name, value)
        work = hosts.root / "work"
        work.mkdir()
        backends.backend.cache_clear()
        yield work
        backends.backend.cache_clear()


def command_line(process: psutil.Process) -> list[str]:
    """The command line of a process; none once it has ended, also where nobody has reaped it yet."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def listening(process: psutil.Process) -> set[str]:
    """Addresses that a process listens at (TCP), also in another network: psutil looks at its own only.

    None once it has ended.
    """
    proc = Path(f"/proc/{process.pid}")
    inodes = set()
    found: set[str] = set()
    try:
        for file in (proc / "fd").iterdir():
            with suppress(FileNotFoundError):  # closed since
                inodes.add(os.readlink(file).removeprefix("socket:[").removesuffix("]"))
        tables = [(proc / "net" / name).read_text() for name in ("tcp", "tcp6")]
    except OSError:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            return found
        raise
    for table in tables:
        for line in table.splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                packed = bytes.fromhex(words[1].partition(":")[0])
                turned = b"".join(packed[i : i + 4][::-1] for i in range(0, len(packed), 4))
                found.add(str(ipaddress.ip_address(turned)))
    return found
