"""Shapes of training loops: steps and samples are exact, or marked as a guess; rates are the loop's own."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PRELUDE = """
import json, os, sys, torch, torch.distributed as dist, torch.nn as nn, torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.monitor import Monitor
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
memory = memoryview(bytearray(ring.BYTES))
monitor = Monitor(memory, 2)
reader = ring.Reader(memory)
data = TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
def loader():
    return DataLoader(data, batch_size=8)
def model():
    return DDP(nn.Linear(8, 2))
def sgd(m):
    return torch.optim.SGD(m.parameters(), lr=0.1)
found = {}
def check(name, loop, steps, samples):
    monitor.begin_cell()
    before, records = reader.header(ring.STEP), reader.header(ring.STEPS)
    loop()
    new = reader.header(ring.STEPS) - records
    found[name] = {
        "steps": reader.header(ring.STEP) - before, "samples": sum(r.samples for r in reader.last(new)),
        "unsure": bool(reader.header(ring.UNSURE)), "right": [steps, samples],
        "errors": reader.header(ring.ERRORS), "repeats": reader.header(ring.REPEATS)}
"""
LOOPS = """
def plain():
    m = model(); o = sgd(m)
    for x, y in loader():
        F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
check("plain", plain, 8, 64)
def without_loader():
    m = model(); o = sgd(m)
    for _ in range(8):
        m(torch.randn(8, 8)).sum().backward(); o.step(); o.zero_grad()
check("no loader", without_loader, 8, 64)
def accumulation():
    m = model(); o = sgd(m)
    for i, (x, y) in enumerate(loader()):
        if i % 4 < 3:
            with m.no_sync():
                F.cross_entropy(m(x), y).backward()
        else:
            F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
check("accumulation", accumulation, 2, 64)
def evaluation():
    m = model(); o = sgd(m)
    for x, y in loader():
        F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
    m.eval()
    with torch.no_grad():
        for x, y in loader():
            m(x)
check("train and evaluate", evaluation, 8, 64)
def gan():
    g, d = model(), DDP(nn.Linear(2, 1)); og, od = sgd(g), sgd(d)
    for x, y in loader():
        od.zero_grad(); d(g(x).detach()).sum().backward(); od.step()
        og.zero_grad(); d(g(x)).sum().backward(); og.step()
check("GAN", gan, 8, 64)
def wgan():
    g, d = model(), DDP(nn.Linear(2, 1)); og, od = sgd(g), sgd(d)
    for _ in range(4):
        for _ in range(5):
            od.zero_grad(); d(g(torch.randn(8, 8)).detach()).sum().backward(); od.step()
        og.zero_grad(); d(g(torch.randn(8, 8))).sum().backward(); og.step()
check("WGAN 5:1", wgan, 4, None)
def amp():
    m = model(); o = sgd(m); s = torch.amp.GradScaler("cpu", init_scale=2.0**40)
    for i, (x, y) in enumerate(loader()):
        l = F.cross_entropy(m(x), y)
        if i < 2:
            l = l * float("inf")
        s.scale(l).backward(); s.step(o); s.update(); o.zero_grad()
check("AMP with skipped steps", amp, 8, 64)
def lbfgs():
    m = nn.Linear(8, 2); o = torch.optim.LBFGS(m.parameters(), max_iter=5)
    for x, y in loader():
        def closure():
            o.zero_grad(); l = F.cross_entropy(m(x), y); l.backward(); return l
        o.step(closure)
check("LBFGS", lbfgs, 8, 64)
class HF(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.Linear(8, 2)
    def forward(self, input=None, labels=None):
        return {"loss": F.cross_entropy(self.l(input), labels)}
def transformers():
    m = DDP(HF()); o = torch.optim.AdamW(m.parameters())
    for _ in range(8):
        m(input=torch.randn(8, 8), labels=torch.randint(0, 2, (8,)))["loss"].backward()
        o.step(); o.zero_grad()
check("dict of the transformers kind", transformers, 8, 64)
def time_major():
    m = DDP(nn.LSTM(8, 8)); o = sgd(m)
    for _ in range(8):
        m(torch.randn(20, 8, 8))[0].sum().backward(); o.step(); o.zero_grad()
check("time-major RNN", time_major, 8, 64)
def by_hand():
    m = nn.Linear(8, 2); o = sgd(m)
    for x, y in loader():
        F.cross_entropy(m(x), y).backward()
        for p in m.parameters():
            dist.all_reduce(p.grad)
        o.step(); o.zero_grad()
check("all_reduce by hand", by_hand, 8, 64)
def by_hand_accumulated():
    m = nn.Linear(8, 2); o = sgd(m)
    for i, (x, y) in enumerate(loader()):
        F.cross_entropy(m(x), y).backward()
        if i % 4 == 3:
            for p in m.parameters():
                dist.all_reduce(p.grad)
            o.step(); o.zero_grad()
check("all_reduce by hand, accumulated", by_hand_accumulated, 2, 64)
def read_first():
    m = model(); o = sgd(m); batches = iter(loader())
    for _ in range(2):
        for x, y in [next(batches) for _ in range(4)]:  # as Transformers reads them
            F.cross_entropy(m(x), y).backward()
        o.step(); o.zero_grad()
check("all batches of a step read first", read_first, 2, 64)
def ahead(loader):
    last = None
    for batch in loader:  # as Accelerate reads them
        if last is not None:
            yield last
        last = batch
    yield last
def read_ahead():
    m = nn.Linear(8, 2); o = sgd(m)
    for epoch in range(2):
        for x, y in ahead(loader()):
            F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
            with torch.no_grad():
                m(x)
        for x, y in loader():  # validation whose loader is read with gradients on
            with torch.no_grad():
                m(x)
check("read one batch ahead, validation between", read_ahead, 16, 128)
def two_loaders():
    m = model(); o = sgd(m)
    for (x, y), (z, _) in zip(loader(), loader()):
        (F.cross_entropy(m(x), y) + m(z).sum()).backward(); o.step(); o.zero_grad()
check("two loaders", two_loaders, 8, 64)
def own_sgd():
    m = model()
    for _ in range(8):
        m(torch.randn(8, 8)).sum().backward()
        with torch.no_grad():
            for p in m.parameters():
                p -= 0.1 * p.grad; p.grad = None
check("SGD by hand", own_sgd, 8, 64)
def two():
    m = model(); os_ = [torch.optim.SGD([p], lr=0.1) for p in m.parameters()]
    for x, y in loader():
        F.cross_entropy(m(x), y).backward()
        for o in os_:
            o.step(); o.zero_grad()
check("two optimizers", two, 8, 64)
def in_backward():
    from torch.distributed.optim import _apply_optimizer_in_backward
    net = nn.Linear(8, 2)
    # without DDP, whose part in this needs an accelerator in torch 2.13
    _apply_optimizer_in_backward(torch.optim.SGD, net.parameters(), {"lr": 0.1})
    for x, y in loader():
        F.cross_entropy(net(x), y).backward()
check("optimizer in backward", in_backward, 8, 64)
def compiled_step():
    m = model(); o = sgd(m); step = torch.compile(lambda: o.step(), backend="eager")
    for _ in range(4):
        m(torch.randn(8, 8)).sum().backward(); step(); o.zero_grad()
check("compiled step", compiled_step, 4, 32)
def compiled_model():
    m = torch.compile(model(), backend="eager"); o = sgd(m)
    for _ in range(4):
        m(torch.randn(8, 8)).sum().backward(); o.step(); o.zero_grad()
check("compiled model", compiled_model, 4, 32)
print("FOUND", json.dumps(found), flush=True)
os._exit(0)
"""


def _run(folder: Path, code: str) -> dict[str, Any]:
    script = folder / "loops.py"
    script.write_text(textwrap.dedent(code))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=110, check=False
    )
    assert "FOUND " in done.stdout, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.split("FOUND ")[1])
    return found


@pytest.mark.timeout(120)
def test_steps_and_samples_are_exact_or_marked_as_a_guess(tmp_path: Path) -> None:
    found = _run(tmp_path, PRELUDE + LOOPS)
    assert len(found) == 20
    wrong = {
        name: row
        for name, row in found.items()
        if not row["unsure"]
        and (row["steps"] != row["right"][0] or row["right"][1] not in (None, row["samples"]))
    }
    assert not wrong
    assert not any(row["errors"] for row in found.values()), found
    assert [name for name, row in found.items() if row["repeats"]] == ["LBFGS"], "computes gradients again"
    guessed = {name for name, row in found.items() if row["unsure"]}
    assert guessed <= {"time-major RNN", "SGD by hand", "optimizer in backward", "compiled model"}


RATES = """
import time
from dtrain_lab.metrics.estimates import rank_metrics
class Slow(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.Linear(8, 2)
    def forward(self, x):
        time.sleep(0.004)
        return self.l(x)
def rate(name, loop):
    monitor.begin_cell()
    time.sleep(0.1)  # what a cell does before it trains
    samples, seconds = loop()
    new = reader.in_cell
    figures = rank_metrics(reader.last(new), time.monotonic_ns(), new)
    found[name] = [figures.samples_per_s, samples / seconds]
def epochs(m, batches, between=lambda m: None, every=1, most=9, rest=lambda m, i: None):
    o = sgd(m); samples = 0; trained = 0.0; first = None
    for _ in range(3):
        began = time.perf_counter()
        for i, (x, y) in enumerate(batches()):
            if i == most:  # leaves a batch that was read
                break
            F.cross_entropy(m(x), y).backward(); samples += len(x)
            if i % every == every - 1:
                o.step(); stepped = time.perf_counter(); o.zero_grad()
                first = first or (samples, stepped - began)  # a cell's first step is in no rate
            lost = rest(m, i) or 0.0; trained -= lost
        ended = time.perf_counter(); trained += ended - began
        between(m)
    return samples - first[0], trained - first[1] - (ended - stepped - lost)  # no step has the last rest
def validate(m):
    m.eval()
    for x, y in loader():
        with torch.no_grad():
            m(x)
    m.train()
def validate_without_gradients(m):
    with torch.no_grad():
        for x, y in loader():
            m(x)
def validate_slowly(m):
    validate_without_gradients(m)
    time.sleep(0.05)
def save(m):
    torch.save(m.state_dict(), os.devnull)
    time.sleep(0.05)
def wait_for_a_peer(m):
    time.sleep(0.05)
    dist.barrier()
class StartsSlowly:
    def __iter__(self):
        time.sleep(0.03)  # as workers start
        return iter([list(range(i, i + 8)) for i in range(0, 64, 8)])
def starts_slowly():
    return DataLoader(data, batch_sampler=StartsSlowly())
rate("slow", lambda: epochs(DDP(Slow()), loader))
rate("after another cell", lambda: epochs(DDP(nn.Linear(8, 2)), loader))
rate("accumulated without DDP", lambda: epochs(Slow(), loader, every=4))
rate("validation", lambda: epochs(DDP(Slow()), loader, validate))
rate("validation without DDP", lambda: epochs(Slow(), loader, validate))
rate("validation under no_grad", lambda: epochs(Slow(), loader, validate_without_gradients))
rate("checkpoints", lambda: epochs(Slow(), loader, save))
rate("a peer's checkpoints", lambda: epochs(DDP(Slow()), loader, wait_for_a_peer))
rate("validation of a loop that is left", lambda: epochs(DDP(Slow()), loader, validate_slowly, most=6))
rate("checkpoints of one that is left", lambda: epochs(Slow(), loader, save, most=6))
rate("a peer's in one that is left", lambda: epochs(DDP(Slow()), loader, wait_for_a_peer, most=6))
rate("workers start each epoch", lambda: epochs(DDP(Slow()), starts_slowly, validate))
def larger():
    return DataLoader(data, batch_size=16)
def works(m, i):
    time.sleep(0.012)
def evaluates_with_gradients(m):
    for x, y in loader():
        m(x); time.sleep(0.004)
def saves_last(m, i):
    began = time.perf_counter()
    if i == 3:
        save(m)
    return time.perf_counter() - began
work = {"rest": works}
rate("work after the step", lambda: epochs(DDP(Slow()), larger, **work))
rate("work, then validation", lambda: epochs(DDP(Slow()), larger, validate_slowly, **work))
rate("work, then validation with gradients", lambda: epochs(Slow(), larger, evaluates_with_gradients, **work))
rate("work, then a checkpoint", lambda: epochs(Slow(), larger, save, **work))
rate("work, then a peer's", lambda: epochs(DDP(Slow()), larger, wait_for_a_peer, **work))
rate("work in a loop that is left", lambda: epochs(DDP(Slow()), larger, validate_slowly, most=3, **work))
rate("the same with gradients", lambda: epochs(Slow(), larger, evaluates_with_gradients, most=3, **work))
rate("a checkpoint in the last pass", lambda: epochs(Slow(), larger, validate_slowly, rest=saves_last))
print("FOUND", json.dumps(found), flush=True)
os._exit(0)
"""


@pytest.mark.timeout(240)
def test_rates_are_those_of_the_loop_itself(tmp_path: Path) -> None:
    """A rate that is wrong is wrong each time; a process that lost its core for a moment is not."""
    off: Counter[str] = Counter()
    for _ in range(5):
        found = _run(tmp_path, PRELUDE + RATES)
        assert len(found) == 20
        wrong = [name for name, (told, true) in found.items() if told != pytest.approx(true, rel=0.05)]
        off.update(wrong)
        assert max(off.values(), default=0) < 2, (off, found)
        if not wrong:
            return
    pytest.fail(f"not one of five runs was right: {off}")


AVERAGED = """
from torch.distributed.algorithms.join import Join
def count(name, loop):
    monitor.begin_cell()
    loop()
    found[name] = reader.header(ring.AVERAGED)
def passes(m, number, *, backward=True):
    for _ in range(number):
        loss = m(torch.ones(1, 8)).sum()
        if backward: loss.backward()
def without_sync():
    m = model()
    with m.no_sync(): passes(m, 2)
    passes(m, 1)
def joined():
    m = model()
    with Join([m]): passes(m, 3)
def of_a_subgroup():
    passes(DDP(nn.Linear(8, 2), process_group=dist.new_group([0])), 3)
count("plain", lambda: passes(model(), 4))
count("not averaged yet", without_sync)
count("no backward", lambda: passes(model(), 2, backward=False))
count("ranks that leave earlier", joined)
count("a subgroup", of_a_subgroup)
print("FOUND", json.dumps(found), flush=True)
os._exit(0)
"""


@pytest.mark.timeout(120)
def test_backward_passes_that_all_ranks_make_alike_are_counted(tmp_path: Path) -> None:
    """Who has made one more than another waits for it on a GPU: not so under `Join`, or in another group."""
    assert _run(tmp_path, PRELUDE + AVERAGED) == {
        "plain": 4,
        "not averaged yet": 1,
        "no backward": 0,
        "ranks that leave earlier": 0,
        "a subgroup": 0,
    }
