"""Worlds over hosts that are reached through SSH: real sshd, real networks, real faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zmq

import dtrain_lab as dt
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.start import connect
from dtrain_lab.errors import EnvironmentUnfit, SignInNeeded, StartFailed, Unreachable
from dtrain_lab.services.policy import policy
from dtrain_lab.services.profiles import slots
from dtrain_lab.wire import clients
from dtrain_lab.wire.processes.settings import Policy
from tests.faults import note
from tests.hosts import Hosts, command_line, listening, need, running_hosts
from tests.integration.profiles import TRAIN, empty, write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    need("sshd", "ssh-keygen")
    with running_hosts(3) as made, pytest.MonkeyPatch.context() as patch:
        made.start_ssh()
        patch.setenv("HOME", str(made.home()))
        write_profile("hosts", 'backend = "ssh"\n[ssh]\nhosts = ["node1", "node2", "node3"]\n')
        yield made


@pytest.fixture(scope="module")
def cluster(hosts: Hosts) -> Iterator[Any]:
    with dt.start("hosts", nodes=2, ranks_per_node=2, name="far") as started:
        yield started


def test_a_world_spans_hosts_whose_interfaces_have_other_names(cluster: Any, hosts: Hosts) -> None:
    info = cluster.info()
    assert [n["name"] for n in info["nodes"]] == ["node1", "node2"]
    assert [n["address"] for n in info["nodes"]] == [hosts.address("node1"), hosts.address("node2")]
    result = cluster.run(
        "import os, socket, torch, torch.distributed as dist\n"
        "total = torch.ones(1); dist.all_reduce(total)\n"
        "print(socket.gethostname(), int(total), os.environ['GLOO_SOCKET_IFNAME'])"
    )
    names = [("node1", hosts.interface("node1"))] * 2 + [("node2", hosts.interface("node2"))] * 2
    assert result.stdout == {rank: f"{node} 4 {name}\n" for rank, (node, name) in enumerate(names)}
    assert info["ends_at"] is not None


def test_its_slots_are_seen_to_be_held_on_each_host(cluster: Any) -> None:
    portal = Portal.get()
    nodes = portal.call(slots.listing("hosts")).nodes
    held = [[slot.held_by.name for slot in node.slots if slot.held_by] for node in nodes]
    assert held == [["far", "far"], ["far", "far"], []]


def test_views_and_values_cross_hosts(cluster: Any) -> None:
    import numpy as np

    assert len(set(cluster.view().apply_sync(os.getpid))) == 4
    values = np.arange(200_000.0)
    cluster.push(values=values, small="text")
    assert cluster.run("print(values.sum(), small)").stdout[3] == f"{values.sum()} text\n"
    cluster.run("mine = values + rank", ranks="2-3")
    pulled = cluster.pull("mine", ranks="2-3")
    assert (pulled[3] == values + 3).all()
    cluster.run("values[rank] = -1")
    assert cluster.diff("values")


def test_calls_and_cells_reach_ranks_of_all_hosts_in_one_order(cluster: Any) -> None:
    """The notebook's process does not run on the head's machine, which can't look whether it lives."""
    cluster.run("import time\norder = []")
    view = cluster.view()
    for number in range(0, 20, 2):
        call = view.execute(f"time.sleep(0.02 * (rank + 1))\norder.append({number})", block=False)
        cluster.run(f"order.append({number + 1})")
        call.get(30)
    assert cluster.pull("order") == {rank: list(range(20)) for rank in range(4)}


def test_what_hosts_tell_each_other_is_seen_for_each(cluster: Any) -> None:
    """While 4 MB go back and forth, each host sends megabytes a second; at rest it does not."""
    code = (
        "import threading, time, torch, torch.distributed as dist\n"
        "t, end = torch.ones(2**20), time.time() + 60\n"
        "while time.time() < end:\n    dist.all_reduce(t)\n"
    )
    running = threading.Thread(target=cluster.run, args=(code,), kwargs={"check": False})
    running.start()
    try:
        seen: list[dict[str, Any]] = []  # one look at both hosts: the next may fall on a pause

        def both_busy() -> bool:
            seen[:] = cluster.info()["nodes"]
            rates = [n[way] or 0 for n in seen for way in ("sent_bytes_per_s", "received_bytes_per_s")]
            return min(rates) > 1e6

        wait_until(both_busy, 30, "both hosts send and receive")
        assert all(0 < n["cpu_utilization"] <= 1 for n in seen)
    finally:
        cluster.interrupt()
        running.join(30)
    wait_until(
        lambda: all(n["sent_bytes_per_s"] < 1e6 for n in cluster.info()["nodes"]), 30, "both are at rest"
    )


def test_a_breakpoint_in_a_file_that_one_host_lacks_says_who_does_not_stop(
    cluster: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "only_here.py").write_text("def work(x):\n    y = x + 1\n    return y\n")
    cluster.run(f"import sys; sys.path.insert(0, {str(folder)!r}); import only_here")
    # the hosts are one file system: a rank of node2 hides the folder there
    hide = f"import subprocess; subprocess.run(['mount', '-t', 'tmpfs', 'none', {str(folder)!r}], check=True)"
    cluster.run(hide, ranks="2")
    with cluster.debug() as debugger:
        debugger.set_breakpoint(str(folder / "only_here.py"), 2)
        notes = " ".join(debugger.state.notes)
        assert "There is no file" in notes
        assert "on node2" in notes
        assert "Ranks 2–3 do not stop there." in notes
        running = threading.Thread(target=cluster.run, args=("print(only_here.work(rank))",))
        running.start()
        assert debugger.wait(20, [0, 1]) == (0, 1)
        debugger.go()
        running.join(20)
        assert not running.is_alive()
    cluster.run(f"subprocess.run(['umount', {str(folder)!r}], check=True)", ranks="2")
    cluster.run("del only_here")


def test_a_rank_of_the_other_host_is_killed_and_training_goes_on(cluster: Any) -> None:
    cluster.run(TRAIN)
    pid = cluster.info()["ranks"][3]["pid"]
    os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    wait_until(lambda: cluster.state == "degraded", 5, "the loss")
    says = cluster.info()["summary"]["text"]
    assert "Rank 3 was lost" in says
    cluster.restart("3")
    took = time.monotonic() - began
    assert took < 3
    cluster.restart("3", source=0)
    assert cluster.run("steps(3); print('trained')").stdout == dict.fromkeys(range(4), "trained\n")
    note(
        "a rank is killed on another node",
        "the cluster, as soon as the process ends",
        says,
        "variables, models and groups of all others; its own with `restart 3 --from 0`",
        "rank replaced, group complete",
        took,
    )


def test_an_interrupt_inside_a_collective_reaches_both_hosts(cluster: Any) -> None:
    cluster.run("import torch, torch.distributed as dist")
    done: list[Any] = []
    code = "if rank:\n    dist.barrier()\nelse:\n    import time; time.sleep(60)"
    thread = threading.Thread(target=lambda: done.append(cluster.run(code, check=False)))
    thread.start()
    wait_until(lambda: cluster.info()["ranks"][3]["state"] == "in collective", 10, "the barrier")
    began = time.monotonic()
    cluster.interrupt()
    thread.join(20)
    took = time.monotonic() - began
    assert {f.kind for f in done[0].failures} == {"interrupted"}
    assert cluster.run("t = torch.ones(1); dist.all_reduce(t); print(int(t))").stdout[0] == "4\n"
    note(
        "interrupt inside a collective, two nodes",
        "you",
        done[0].sentence,
        "everything",
        "all ranks ready",
        took,
    )


def test_an_agent_is_killed_and_its_node_comes_back(cluster: Any, hosts: Hosts) -> None:
    cluster.run("kept = 41 + rank")
    agents = [p for p in hosts.running("node2") if command_line(p)[-2:] == ["-m", "dtrain_lab.node"]]
    agents[0].kill()
    began = time.monotonic()
    wait_until(lambda: cluster.state == "degraded", 10, "the loss")
    note(
        "the agent of a node is killed",
        "the cluster, which starts another; with one node the cluster ends, for nothing of it is left",
        cluster.info()["summary"]["text"],
        "variables of all other nodes",
        "reported",
        time.monotonic() - began,
    )
    text = cluster.info()["summary"]["text"]
    assert "Ranks 2–3 were lost" in text
    assert "node agent of node2" in str(cluster.info()["summary"]["values"])
    cluster.restart("2-3")
    assert cluster.state == "ready"
    cluster.run("import torch, torch.distributed as dist")
    code = "t = torch.ones(1); dist.all_reduce(t); print(int(t), globals().get('kept'))"
    assert cluster.run(code).stdout == {0: "4 41\n", 1: "4 42\n", 2: "4 None\n", 3: "4 None\n"}


def test_a_network_that_is_silent_for_20_s_ends_nothing(cluster: Any, hosts: Hosts) -> None:
    cluster.run("import torch, torch.distributed as dist; here = rank")
    pids = [r["pid"] for r in cluster.info()["ranks"]]
    link = hosts.link("node2")
    subprocess.run(["ip", "link", "set", link, "down"], check=True)
    # the silence itself is what is tested
    time.sleep(20)
    subprocess.run(["ip", "link", "set", link, "up"], check=True)
    began = time.monotonic()
    result = cluster.run("t = torch.ones(1); dist.all_reduce(t); print(int(t), here)", timeout=60)
    note(
        "the network is down for 20 s, then recovers",
        "not needed",
        "–",
        "everything",
        "first all_reduce after it",
        time.monotonic() - began,
    )
    assert result.stdout[2] == "4 2\n"
    assert [r["pid"] for r in cluster.info()["ranks"]] == pids


def test_a_connection_that_breaks_comes_back_and_no_line_is_lost(cluster: Any, hosts: Hosts) -> None:
    done: list[Any] = []
    code = "import time\nfor i in range(60):\n    print('line', i, flush=True)\n    time.sleep(0.1)"
    thread = threading.Thread(target=lambda: done.append(cluster.run(code)))
    thread.start()
    wait_until(lambda: cluster.info()["running"], 10, "the cell")
    sessions = [p for p in hosts.running("node1", "sshd: ") if "@" in " ".join(command_line(p))]
    assert sessions
    for session in sessions:
        session.kill()
    began = time.monotonic()
    wait_until(lambda: cluster.state == "ready", 20, "the connection to come back")
    note(
        "the connection between notebook and head breaks (a laptop sleeps, its address changes)",
        "your notebook, which reconnects by itself",
        "–",
        "everything; output of the meantime is sent again",
        "reconnected",
        time.monotonic() - began,
    )
    thread.join(30)
    assert done[0].stdout == {r: "".join(f"line {i}\n" for i in range(60)) for r in range(4)}


def test_every_listening_socket_is_accounted_for(cluster: Any, hosts: Hosts) -> None:
    cluster.run("import torch, torch.distributed as dist; dist.barrier()")
    seen: set[str] = set()
    for name in ("node1", "node2"):
        for process in hosts.running(name):
            at = listening(process)
            seen |= at
            # the head, the ipyparallel controller and gloo; never on all interfaces
            assert at <= {hosts.address(name), "172.17.0.1", "127.0.0.1"}, command_line(process)
            if command_line(process)[-1:] == ["dtrain_lab.node"] or "join" in command_line(process):
                assert not at, "an agent only connects"
    assert hosts.address("node1") in seen, "the head does listen"


def test_a_strangers_key_and_none_at_all_get_no_answer(cluster: Any) -> None:
    endpoints = cluster._connection.record.remote.handle.endpoints
    context = zmq.Context()
    try:
        for url in (endpoints.client[-1], endpoints.link[-1]):
            for keys in ("none", "stranger"):
                socket = context.socket(zmq.DEALER)
                socket.linger = 0
                if keys == "stranger":
                    public, secret = zmq.curve_keypair()
                    socket.curve_serverkey = endpoints.keys.server.encode()
                    socket.curve_publickey, socket.curve_secretkey = public, secret
                socket.connect(url)
                socket.send(clients.encode(clients.Request(1, clients.Info())))
                assert not socket.poll(700), (url, keys)
                socket.close()
    finally:
        context.term()
    assert cluster.state == "ready"


def test_a_terminal_reaches_the_same_world(cluster: Any) -> None:
    program = str(Path(sys.executable).parent / "dtrain-lab")
    command = [program, "cluster", "show", "far", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["state"] == "ready", done.stderr


def test_nothing_is_left_after_a_stop(cluster: Any, hosts: Hosts) -> None:
    said: list[Any] = []
    # more than a socket takes at once, and little enough to be sent in the time that handlers have, also
    # while this machine has other work
    code = "import atexit\nfrom IPython.display import HTML\n"
    code += "_ = atexit.register(lambda: display(HTML('x' * 5_000_000)))"
    order = clients.Run(cell="says", code=code, label="[1]")
    cluster._portal.call(cluster._connection.run(order, said.append))
    cluster.stop()
    assert sorted(o.rank for o in said if len(o.data) > 5_000_000) == [0, 1, 2, 3], "last words"
    for name in hosts.names:
        wait_until(partial(empty, hosts, name), 20, f"{name} to be empty")


def test_the_end_of_the_head_ends_everything_everywhere(hosts: Hosts) -> None:
    world = dt.start("hosts", nodes=2, ranks_per_node=1, name="doomed")
    head = next(p for p in hosts.running("node1") if command_line(p)[-1:] == ["dtrain_lab.head"])
    assert len(hosts.running("node2")) >= 4
    head.kill()
    began = time.monotonic()
    for name in hosts.names:
        wait_until(partial(empty, hosts, name), 5, f"{name} to be empty")
    left = time.monotonic() - began
    wait_until(lambda: world.gone, 15, "the end to be known")
    with pytest.raises(Unreachable) as ended:
        world.run("1")
    assert left < 2
    note(
        "the head of the cluster is killed",
        "every node and every notebook, as their connection breaks",
        ended.value.message,
        "the output that a page or a notebook has received",
        "no process left on any node",
        left,
    )


def test_a_world_outlives_whoever_started_it_and_its_end_unseen_is_noticed(hosts: Hosts) -> None:
    write_profile("away", f'backend = "ssh"\nworkdir = "{hosts.root}/work/dir"\n[ssh]\nhosts = ["node1"]\n')
    program = str(Path(sys.executable).parent / "dtrain-lab")
    command = [program, "cluster", "start", "--profile", "away", "--ranks", "1", "--name", "alone"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [world] = dt.clusters()
    assert world.run("import os; print(os.getcwd())").stdout == {0: f"{hosts.root}/work/dir\n"}
    head = next(p for p in hosts.running("node1") if command_line(p)[-1:] == ["dtrain_lab.head"])
    portal = Portal.get()
    portal.loop.call_soon_threadsafe(world._connection.close)
    head.kill()
    wait_until(partial(empty, hosts, "node1"), 5, "node1 to be empty")

    def forgotten() -> bool:
        listed = subprocess.run([program, "cluster", "list", "--json"], capture_output=True, text=True)
        return listed.stdout.strip() == "[]"

    wait_until(forgotten, 20, "the world to be forgotten")


def test_a_world_that_nobody_uses_ends(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "current", lambda: Policy(idle_limit_s=3.0))
    world = dt.start("hosts", nodes=1, ranks_per_node=1, name="idle")
    ends_at = world.info()["ends_at"]
    assert ends_at is not None
    assert ends_at - time.time() < 3.5
    world.run("import time; time.sleep(4)")
    assert world.state == "ready", "a running cell is not idle"
    wait_until(lambda: world.gone, 15, "the idle world to end")
    wait_until(partial(empty, hosts, "node1"), 5, "node1 to be empty")


def test_nodes_that_cannot_reach_each_other_are_named(hosts: Hosts) -> None:
    space, other = hosts.namespace("node2"), hosts.address("node3")
    subprocess.run(["ip", "-n", space, "route", "add", "blackhole", other], check=True)
    began = time.monotonic()
    try:
        with pytest.raises(StartFailed, match="node2 can't reach node3") as error:
            dt.start("hosts", nodes=3, ranks_per_node=1, name="split")
    finally:
        subprocess.run(["ip", "-n", space, "route", "del", "blackhole", other], check=True)
    note(
        "two nodes can't reach each other",
        "the start: it connects every two nodes before it creates ranks",
        str(error.value.message),
        "–",
        "from the start to the message",
        time.monotonic() - began,
    )
    assert "node1" not in str(error.value.message)
    connect("split").stop()  # its head would keep the reason for ten minutes


def test_profile_check_asks_every_host_and_starts_nothing(hosts: Hosts) -> None:
    write_profile("work", f'backend = "ssh"\nworkdir = "{hosts.root}/w"\n[ssh]\nhosts = ["node1", "node2"]\n')
    program = str(Path(sys.executable).parent / "dtrain-lab")
    done = subprocess.run([program, "profile", "check", "work", "--json"], capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert [n["node"] for n in report["nodes"]] == ["node1", "node2"]
    assert hosts.address("node2") in report["nodes"][1]["interfaces"]
    assert report["ask"]["ranks_per_node"] >= 1
    between = report["network"]
    assert (between["first"], between["second"]) == ("node1", "node2")
    assert 0 < between["speed"]["round_trip_s"] < 0.1
    assert between["speed"]["bytes_per_s"] > 1e6
    blackhole = ["blackhole", hosts.address("node1")]
    subprocess.run(["ip", "-n", hosts.namespace("node2"), "route", "add", *blackhole], check=True)
    try:
        done = subprocess.run([program, "profile", "check", "work"], capture_output=True, text=True)
        assert "node2 can't reach node1" in done.stderr, done
    finally:
        subprocess.run(["ip", "-n", hosts.namespace("node2"), "route", "del", *blackhole], check=True)
    write_profile("nowork", 'backend = "ssh"\nworkdir = "/proc/x"\n[ssh]\nhosts = ["node1"]\n')
    done = subprocess.run([program, "profile", "check", "nowork"], capture_output=True, text=True)
    assert done.returncode
    assert "node1 can't write workdir: /proc/x" in done.stderr
    # what it has asked the last host may be ending
    wait_until(lambda: all(empty(hosts, name) for name in hosts.names), 10, "the hosts to be empty")


@pytest.mark.parametrize(
    ("name", "text", "kind", "part"),
    [
        ("nowhere", '[ssh]\nhosts = ["no-such-host"]\n', Unreachable, "no-such-host"),
        ("none", "", Exception, "lists no hosts"),
        (
            "nopython",
            '[environment]\nkind = "venv"\npath = "/no/venv"\n[ssh]\nhosts = ["node1"]\n',
            EnvironmentUnfit,
            "node1 can't start /no/venv/bin/python",
        ),
        (
            "noours",
            '[environment]\nkind = "command"\npath = "env PYTHONPATH=/x"\n[ssh]\nhosts = ["node1"]\n',
            EnvironmentUnfit,
            "node1",
        ),
    ],
)
def test_what_is_wrong_with_a_host_is_one_sentence(
    hosts: Hosts, name: str, text: str, kind: type[Exception], part: str
) -> None:
    write_profile(name, f'backend = "ssh"\n{text}')
    with pytest.raises(kind, match=part):
        dt.start(name, ranks=1)


def test_a_host_whose_key_is_not_known_is_refused(hosts: Hosts) -> None:
    config = Path(os.environ["HOME"]) / ".ssh" / "config"
    before = config.read_text()
    (hosts.root / "unknown_hosts").touch()
    config.write_text(before.replace(f"{hosts.root}/known_hosts", f"{hosts.root}/unknown_hosts"))
    try:
        for session in hosts.running("node3", "sshd: "):
            if "@" in " ".join(command_line(session)):
                session.kill()  # a connection that was made before is not checked again
        write_profile("unknown", 'backend = "ssh"\n[ssh]\nhosts = ["root@node3"]\n')
        with pytest.raises(SignInNeeded, match="The key of root@node3 is not known") as error:
            dt.start("unknown", ranks=1)
        assert "ssh root@node3" in error.value.hint
    finally:
        config.write_text(before)


def test_a_refusal_is_not_tried_again(hosts: Hosts) -> None:
    home = Path(os.environ["HOME"])
    config = home / ".ssh" / "config"
    before = config.read_text()
    other = home / "other_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    entry = before.split("Host node2")[0].replace("Host node1", "Host stranger")
    config.write_text(before + entry.replace(str(hosts.root / "id_ed25519"), str(other)))
    write_profile("stranger", 'backend = "ssh"\n[ssh]\nhosts = ["stranger"]\n')
    log = hosts.root / "node1" / "sshd.log"
    try:
        for _ in range(2):
            with pytest.raises(SignInNeeded, match="stranger refused") as error:
                dt.start("stranger", ranks=1)
        assert "ssh stranger" in error.value.hint
        # each start is a person's attempt, and tries once
        closed = "Connection closed by authenticating user"
        wait_until(lambda: log.read_text().count(closed) >= 2, 10, "sshd to write it down")
        assert log.read_text().count(closed) == 2
    finally:
        config.write_text(before)
