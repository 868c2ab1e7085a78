"""Jobs: accepted, first step, cost a step, a line's way, cancel, long lists and logs; peers side by side.

Slurm and SSH need root, Debian's packages and iproute2; without them their rows are missing.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.jobs.jobs_browser import in_the_browser
from benchmarks.measure import Row, emit, middle
from tests.books import write
from tests.hosts import Hosts, running_hosts

REPEATS = int(os.environ.get("BENCH_REPEATS", "3"))
STEPS = 1000
"""The first of which are probed more often than later ones: a shorter run would measure little else."""
STEP = """
import time, torch
from torch.nn.parallel import DistributedDataParallel as DDP
model = DDP(torch.nn.Linear(256, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 256)
def step():
    model(x).square().mean().backward()
    optimizer.step(); optimizer.zero_grad()
    until = time.perf_counter() + 0.02
    while time.perf_counter() < until: pass
step()
print("FIRST", time.time(), flush=True)
for _ in range(20): step()
torch.distributed.barrier()
began = time.perf_counter()
for _ in range({steps}): step()
print("EACH", (time.perf_counter() - began) / {steps}, flush=True)
"""
HAND = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --output={folder}/hand.log
#SBATCH --comment=hand
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT={port}
srun bash -c 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS OMP_NUM_THREADS=1
export GLOO_SOCKET_IFNAME=$(ip -o -4 addr show | awk "/{prefix}/ {{print \\$2; exit}}")
exec {python} -u {folder}/main.py'
"""


def said(text: str, word: str) -> float:
    """A figure that a rank printed; two ranks may share a line of a pipe."""
    found = re.search(rf"{word} (\d+\.\d+)", text)
    assert found is not None, text
    return float(found[1])


def submit(book: Path, profile: str, **more: Any) -> tuple[Any, float]:
    """A job, and how long its submission took."""
    import dtrain_lab as dt

    began = time.perf_counter()
    job = dt.submit(book, profile, **more)
    return job, time.perf_counter() - began


def until(test: Any) -> float:
    """Seconds until something holds."""
    began = time.perf_counter()
    while not test():
        time.sleep(0.02)
    return time.perf_counter() - began


def ended(job: Any) -> None:
    """Wait without a look at the job: on two busy cores a look would cost its ranks time."""
    while not (Path(job.last_info.directory) / "exit").exists():
        time.sleep(0.2)


def left(job: str) -> list[int]:
    """Processes of a job, wherever on this machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if job.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:  # it has just ended
            continue
    return found


def cancelled(job: Any) -> float:
    """Seconds from cancel to no process left."""
    began = time.perf_counter()
    job.cancel()
    until(lambda: not left(job.id))
    return time.perf_counter() - began


def local(root: Path) -> list[Row]:
    """This machine, beside plain torchrun."""
    book = write(root / "books" / "step.ipynb", [STEP.format(steps=STEPS)])
    sleep = write(root / "books" / "sleep.ipynb", ["import time\nprint('begins')\ntime.sleep(600)"])
    script = subprocess.run(["dtrain-lab", "script", str(book)], capture_output=True, text=True, check=True)
    (root / "main.py").write_text(script.stdout)
    run = ["torchrun", "--standalone", "--nproc-per-node=2", "--local-ranks-filter=0", str(root / "main.py")]
    mine, theirs, accepted, ends = [], [], [], []

    def ours() -> None:
        job, seconds = submit(book, "local", ranks=2)
        accepted.append(seconds)
        ended(job)
        mine.append(said(job.logs(0), "EACH"))

    def plain() -> None:
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        theirs.append(said(done.stdout, "EACH"))

    for turn in range(max(11, REPEATS)):  # one run of torchrun is up to 2 % faster than the next
        for act in (ours, plain) if turn % 2 else (plain, ours):
            act()
        job, _ = submit(sleep, "local", ranks=2)
        until(lambda job=job: "begins" in job.logs())
        ends.append(cancelled(job))
    late = line_delays(root)
    return [
        Row("job: submit → accepted, local", f"{middle(accepted):.2f} s", "–", middle(accepted), 0.3),
        Row(
            "job: a 20 ms step, 2 ranks",
            f"{middle(mine) * 1e3:.2f} ms",
            f"{middle(theirs) * 1e3:.2f} ms plain torchrun",
            middle(mine) / middle(theirs),
            1.01,
        ),
        Row("job: line printed → read, p95", f"{late * 1e3:.0f} ms", "–", late, 0.3),
        Row("job: cancel → no process, local", f"{middle(ends):.1f} s", "–", middle(ends), 10),
    ]


def line_delays(root: Path) -> float:
    """95th percentile of the way of a line from a rank to whoever polls as the page does."""
    from dtrain_lab.api.portal import Portal

    code = "import time\nfor i in range(100):\n    print('AT', time.time(), flush=True)\n    time.sleep(0.05)"
    job, _ = submit(write(root / "books" / "lines.ipynb", [code]), "local", ranks=1)
    portal = Portal.get()
    offset, late = "start", list[float]()
    while len(late) < 100:
        piece = portal.call(portal.call(portal.jobs.reader(job.id)).logs(offset=offset))
        now = time.time()
        late += [now - float(line.text.split()[-1]) for line in piece.lines if "AT" in line.text]
        offset = piece.offset
        time.sleep(0.15)  # `POLL_MS` of src/job/log/logReader.ts
    return sorted(late)[94]


def slurm(hosts: Hosts, root: Path) -> list[Row]:
    """Slurm, beside a script that a person would write."""
    book = write(root / "books" / "first.ipynb", [STEP.format(steps=20)])
    sleep = write(root / "books" / "sleep2.ipynb", ["import time\nprint('begins')\ntime.sleep(600)"])
    script = subprocess.run(["dtrain-lab", "script", str(book)], capture_output=True, text=True, check=True)
    (root / "main.py").write_text(script.stdout)
    mine, theirs, accepted, ends = [], [], [], []
    prefix = hosts.address("node1").rpartition(".")[0]

    def ours(_: int) -> None:
        began = time.time()
        job, seconds = submit(book, "queue", nodes=2, ranks_per_node=1, launcher="srun")
        accepted.append(seconds)
        ended(job)
        mine.append(said(job.logs(0), "FIRST") - began)

    def by_hand(turn: int) -> None:
        hand = HAND.format(folder=root, port=29700 + turn, python=sys.executable, prefix=prefix)
        (root / "hand.sh").write_text(hand)
        (root / "hand.log").unlink(missing_ok=True)
        began = time.time()
        subprocess.run(["sbatch", "--wait", str(root / "hand.sh")], check=True, capture_output=True)
        theirs.append(said((root / "hand.log").read_text(), "FIRST") - began)

    for turn in range(max(10, REPEATS)):
        for act in (ours, by_hand) if turn % 2 else (by_hand, ours):
            hosts.wait_until_idle()
            time.sleep(random.random())  # Slurm looks at its queue once a second
            act(turn)
        hosts.wait_until_idle()
        job, _ = submit(sleep, "queue", nodes=2, ranks_per_node=1)
        until(lambda job=job: "begins" in job.logs())
        ends.append(cancelled(job))
        hosts.wait_until_idle()
    return [
        Row("job: submit → accepted, Slurm", f"{middle(accepted):.2f} s", "–", middle(accepted), 0.3),
        Row(
            "job: submission → first DDP step, Slurm (srun)",
            f"{middle(mine):.1f} s",
            f"{middle(theirs):.1f} s hand-written sbatch",
            middle(mine) / middle(theirs),
            1.1,
        ),
        Row("job: cancel → no process, Slurm", f"{middle(ends):.1f} s", "–", middle(ends), 10),
    ]


def ssh(root: Path) -> list[Row]:
    """Two hosts."""
    sleep = write(root / "books" / "sleep3.ipynb", ["import time\nprint('begins')\ntime.sleep(600)"])
    accepted, ends = [], []
    for _ in range(REPEATS):
        job, seconds = submit(sleep, "hosts", nodes=2, ranks_per_node=1)
        accepted.append(seconds)
        until(lambda job=job: "begins" in job.logs())
        ends.append(cancelled(job))
        job.wait()  # its hosts are gone when the list is measured
    return [
        Row("job: submit → accepted, SSH", f"{middle(accepted):.2f} s", "–", middle(accepted), 0.5),
        Row("job: cancel → no process, SSH", f"{middle(ends):.1f} s", "–", middle(ends), 10),
    ]


def long_things(root: Path) -> list[Row]:
    """1,000 jobs in the list; 100 MB of log."""
    from msgspec.structs import replace

    from dtrain_lab.api.portal import Portal
    from dtrain_lab.services.index import async_index

    job, _ = submit(write(root / "books" / "small.ipynb", ["print('small')"]), "local", ranks=1)
    job.wait()
    portal = Portal.get()
    store = async_index.usual()
    stored = store.find(job.id)
    assert stored is not None
    record, seen = stored
    assert seen is not None
    for index in range(1000):
        name = f"{index:012x}"
        store.put(replace(record, id=name))
        store.save_state(replace(record, id=name), replace(seen, id=name))
    listed, opened, found = [], [], []
    log = Path(record.directory) / "log.0"
    line = "1.000 0 o " + "x" * 90 + "\n"
    log.write_text(line * 1_000_000 + "2.000 0 o the needle\n")
    for _ in range(5):
        began = time.perf_counter()
        assert len(portal.call(portal.jobs.listing())) >= 1000
        listed.append(time.perf_counter() - began)
        began = time.perf_counter()
        assert (
            portal.call(portal.call(portal.jobs.reader(job.id)).logs(offset="end")).lines[-1].text
            == "the needle"
        )
        opened.append(time.perf_counter() - began)
        began = time.perf_counter()
        assert (
            portal.call(portal.call(portal.jobs.reader(job.id)).logs(search="needle")).lines[-1].text
            == "the needle"
        )
        found.append(time.perf_counter() - began)
    return [
        Row("job: 1,000 jobs listed", f"{middle(listed) * 1e3:.0f} ms", "–", middle(listed), 0.1),
        Row(
            "job: 100 MB of log opened at the end", f"{middle(opened) * 1e3:.0f} ms", "–", middle(opened), 0.2
        ),
        Row("job: 100 MB of log searched", f"{middle(found) * 1e3:.0f} ms", "–", middle(found), 1.0),
    ]


def main() -> None:
    """Measure what can be measured here."""
    root = Path(tempfile.mkdtemp())
    for name in ("CONFIG", "DATA", "RUNTIME"):
        os.environ[f"JUPYTER_{name}_DIR"] = str(root / name.lower())
    os.environ.update(IPYTHONDIR=str(root / "ipython"), HOME=str(root / "home"), DTRAIN_LAB_POLL_FLOOR_S="1")
    (root / "home" / ".ssh").mkdir(parents=True)
    emit(local(root))
    emit(in_the_browser())
    if os.getuid() == 0 and shutil.which("sbatch") and shutil.which("sshd"):
        with running_hosts(2) as hosts:
            hosts.start_ssh()
            hosts.start_slurm()
            os.environ["SLURM_CONF"] = str(hosts.slurm_conf)
            (root / "home" / ".ssh" / "config").write_text(hosts.ssh_config.read_text())
            folder = root / "config" / "dtrain-lab" / "profiles"
            folder.mkdir(parents=True)
            (folder / "queue.toml").write_text(f'backend = "slurm"\nworkdir = "{root}/work"\n')
            (folder / "hosts.toml").write_text(
                f'backend = "ssh"\nworkdir = "{root}/hosts"\n[ssh]\nhosts = ["node1", "node2"]\n'
            )
            emit(slurm(hosts, root))
            emit(ssh(root))
    else:
        print("Slurm and SSH: not measured; they need root and their packages (tests/system_packages.sh).")
    emit(long_things(root))


if __name__ == "__main__":
    main()
