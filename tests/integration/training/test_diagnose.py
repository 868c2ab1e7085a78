"""`diagnose` on real ranks: both checks come out as the truth is, and nothing is left changed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import BadRequest, Conflict, NotFound
from dtrain_lab.metrics.measured_communication import measured_data
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.profiles import speeds
from dtrain_lab.wire.node_check import Between, Speed
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(150)]

SETUP = """
import contextlib, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.utils.data import DataLoader, Dataset

COMPUTE_S, DATA_S, SEND_S = {compute}, {data}, {send}

class Timed(torch.autograd.Function):
    "Takes a known time in backward, and no processor."
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        time.sleep(COMPUTE_S)
        return grad

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(16, 32)
        self.norm = torch.nn.BatchNorm1d(32)
        self.b = torch.nn.Linear(32, 4)
    def forward(self, x):
        return Timed.apply(self.b(self.norm(self.a(x)).relu()))

class Slow(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        time.sleep(DATA_S / 4)
        return torch.randn(16), i % 4

def late(state, bucket):
    time.sleep(SEND_S)
    return allreduce_hook(None, bucket)

torch.manual_seed(0)
model = DDP(Net())
if SEND_S:
    model.register_comm_hook(None, late)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(Slow(), batch_size=4, shuffle=True)
def train(steps):
    it = iter(loader)
    for _ in range(steps):
        x, y = next(it)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
def mark():
    "Everything that training changes, as one number for each kind."
    state = [v for s in optimizer.state.values() for v in s.values() if torch.is_tensor(v)]
    grads = [p.grad for p in model.parameters() if p.grad is not None]  # an interrupt may leave some None
    kinds = [list(model.parameters()), list(model.buffers()), grads, state]
    return [sum(float(t.double().abs().sum()) for t in kind) for kind in kinds] + [
        int(torch.get_rng_state().sum()), model.training, len(optimizer.state)]
train(3)
"""


READS_ITS_OWN = """
def train_with_its_own(steps):
    own = iter(DataLoader(Slow(), batch_size=4, shuffle=True))
    for _ in range(steps):
        x, y = next(own)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
trained = [0]
"""Steps so far."""


@pytest.fixture(scope="module")
def world() -> Iterator[dt.Cluster]:
    with dt.start(ranks=2, name="diagnosed") as cluster:
        yield cluster


def test_before_any_training_it_says_what_to_do(world: dt.Cluster) -> None:
    with pytest.raises(BadRequest, match="train a few steps"):
        world.diagnose()
    assert world.advise() == []


ATTEMPTS = 6
"""Of a measurement, on a machine with other work."""


@pytest.mark.parametrize(
    ("compute", "data", "send", "communication", "waiting", "text"),
    [
        (0.03, 0.0, 0.03, 0.5, 0.0, "Communication-bound"),
        (0.03, 0.06, 0.0, 0.0, 0.66, "Input-bound"),
        (0.06, 0.0, 0.0, 0.0, 0.0, "Computation takes the time"),
    ],
    ids=["communication", "data", "computation"],
)
def test_it_finds_what_takes_the_time_and_puts_all_back(
    world: dt.Cluster,
    compute: float,
    data: float,
    send: float,
    communication: float,
    waiting: float,
    text: str,
) -> None:
    world.run(SETUP.format(compute=compute, data=data, send=send))
    before = world.run("print(mark())").stdout
    for attempt in range(ATTEMPTS):
        found = world.diagnose()
        assert found.source == "replayed"
        assert found.communication is not None
        assert found.data is not None
        assert world.run("print(mark())").stdout == before
        shares = (found.communication.share, found.data.share)
        if shares == pytest.approx((communication, waiting), abs=0.12) and found.text.startswith(text):
            break
        # cores that others crowd add milliseconds to one kind of step: what is measured then is the crowd
        assert attempt < ATTEMPTS - 1, f"{found.text} {shares}, not {(communication, waiting)}"
    assert world.run("train(3)").ok
    trained[0] += 6
    wait_until(lambda: world.info()["ranks"][0]["step"] == trained[0], 10, "its steps to be no training")


ACCUMULATES = """
def accumulate(steps, own=0, batches=4):
    for _ in range(steps):
        for k, (x, y) in zip(range(batches), loader):
            with contextlib.nullcontext() if k == batches - 1 else model.no_sync():
                torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(own)
"""


def test_a_step_of_several_batches_is_run_again_as_it_was(world: dt.Cluster) -> None:
    world.run(SETUP.format(compute=0.01, data=0.0, send=0.04) + ACCUMULATES)
    world.run("accumulate(8)")
    for attempt in range(ATTEMPTS):
        found = world.diagnose()
        assert found.communication is not None
        if found.communication.share == pytest.approx(0.5, abs=0.12):  # 40 of 4 · 10 + 40 ms
            break
        assert attempt < ATTEMPTS - 1, found
    world.run("accumulate(8, own=0.4)")
    found = world.diagnose()
    assert found.text.startswith("Your loop's own code takes the time: ")
    assert any("neither the model, nor averaging, nor the loader" in note for note in found.notes)
    world.run("accumulate(8, batches=1 + rank)")
    found = world.diagnose()
    assert "The ranks' steps differ in their batches: the checks are of steps of one batch." in found.notes
    assert world.run("dist.barrier()").ok


def test_a_model_that_was_slower_in_the_loop_is_no_code_of_the_loop(world: dt.Cluster) -> None:
    """As on a machine that other work keeps busy while the loop runs, and not while steps are repeated."""
    world.run(SETUP.format(compute=0.02, data=0.0, send=0.0))
    world.run("COMPUTE_S = 0.3; train(8)")
    world.run("COMPUTE_S = 0.02")
    found = world.diagnose()
    assert found.own == 0.0
    assert "own code" not in found.text
    (note,) = [note for note in found.notes if note.startswith("A step of your own loop took ")]
    assert note.endswith("longer than when they were repeated."), "only what was measured"
    assert "own_code" not in [advice["id"] for advice in world.advise()]
    # with its own code the same loop is told as before
    world.run("for _ in range(8): train(1); time.sleep(0.4)")
    found = world.diagnose()
    assert found.text.startswith("Your loop's own code takes the time: ")
    assert "own_code" in [advice["id"] for advice in world.advise()]


def test_a_loader_that_was_local_to_a_function_is_told_from_the_loop_itself(world: dt.Cluster) -> None:
    world.run(SETUP.format(compute=0.01, data=0.08, send=0.0) + READS_ITS_OWN)
    world.run("train_with_its_own(12)")
    found = world.diagnose()
    assert "The DataLoader that training read no longer exists: keep it in a variable" in found.notes[0]
    assert found.data is not None
    assert found.data.in_loop
    last = world.info()["metrics"]["last"]
    assert found.data.share == pytest.approx(last["data_s"] / last["step_s"], abs=0.02), "as the panel says"
    assert found.text.startswith("Input-bound: ")
    assert not any("and loader took" in note for note in found.notes)


READS_NONE = """
other = DDP(Net())
its_optimizer = torch.optim.SGD(other.parameters(), lr=1e-3)
for _ in range({steps}):
    its_optimizer.zero_grad()
    other(torch.randn(8, 16)).mean().backward()
    its_optimizer.step()
"""


@pytest.mark.parametrize("steps", [6, 20])
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_loop_without_a_loader_waits_for_none_whatever_an_earlier_cell_has_read(
    world: dt.Cluster, steps: int, interrupted: bool
) -> None:
    world.run(SETUP.format(compute=0.01, data=0.08, send=0.0) + READS_ITS_OWN)

    async def stop_it() -> None:
        before = (await world.info_async())["ranks"][0]["step"]
        running = asyncio.ensure_future(world.run_async("train_with_its_own(16)", check=False))
        try:
            while (await world.info_async())["ranks"][0]["step"] < before + 4:
                await asyncio.sleep(0.05)
        finally:
            await world.interrupt_async()
            await running

    if interrupted:
        asyncio.run(stop_it())
        wait_until(lambda: world.state == "ready", 20, "the world to be ready")
    else:
        world.run("train_with_its_own(12)")
    world.run(READS_NONE.format(steps=steps))
    world.run("looked_at = next(iter(loader))")
    found = world.diagnose()
    assert "Training reads no DataLoader, so the time to read data is unknown." in found.notes
    assert found.data is None
    assert not found.text.startswith("Input-bound")
    wait_until(lambda: world.info()["metrics"]["last"]["data_s"] == 0.0, 10, "the panel to say so, too")


def test_a_rank_that_was_slow_is_named_although_repeated_steps_leave_its_own_code_out(
    world: dt.Cluster,
) -> None:
    world.run(SETUP.format(compute=0.01, data=0.0, send=0.0))
    cell = world.run_async("for _ in range(10_000): train(1); time.sleep(0.06 * rank)", check=False)

    async def until_slow() -> None:
        running = asyncio.ensure_future(cell)
        try:
            while not any(v["kind"] == "slow" for v in (await world.info_async())["metrics"]["verdicts"]):
                await asyncio.sleep(0.1)
        finally:
            await world.interrupt_async()
            await running

    asyncio.run(until_slow())
    found = world.diagnose()
    told = r"Rank 1 is slow: rank 0 waits for it, \d\d % of a step\. It takes .* ms a step longer than rank 0"
    assert re.match(told, found.text)
    assert found.communication is not None
    assert " waiting for rank 1, on average over the ranks." in found.communication.text
    shown = world.info()["metrics"]["last"]["comm_overhead"]
    assert shown == pytest.approx(found.communication.share), "one sum in all views"


def test_a_loop_that_runs_is_told_from_its_own_steps(world: dt.Cluster) -> None:
    world.run(SETUP.format(compute=0.02, data=0.0, send=0.0))
    cell = world.run_async("for _ in range(1000): train(16)", check=False)

    async def look() -> None:
        running = asyncio.ensure_future(cell)
        try:
            while (await world.info_async())["metrics"]["step_s"] is None:
                await asyncio.sleep(0.1)
            found = await world.diagnose_async()
            assert found.source == "live"
            assert found.communication is not None
        finally:
            await world.interrupt_async()
            await running

    asyncio.run(look())
    wait_until(lambda: world.state == "ready", 20, "the world to be ready")


def test_what_was_measured_is_shown_while_the_same_loop_runs_and_old_figures_are_the_last(
    world: dt.Cluster,
) -> None:
    world.run(SETUP.format(compute=0.02, data=0.0, send=0.02))
    loop = "for _ in range(1000): train(16)"

    async def train(code: str) -> dict[str, Any]:
        """Its figures, once it makes steps."""
        running = asyncio.ensure_future(world.run_async(code, check=False))
        try:
            while not (found := (await world.info_async())["metrics"])["current"] or not found["step_s"]:
                await asyncio.sleep(0.1)
            return found
        finally:
            await world.interrupt_async()
            await running

    assert not asyncio.run(train(loop))["measured"]
    wait_until(lambda: world.state == "ready", 20, "the world to be ready")
    ended = world.info()["metrics"]
    assert not ended["current"]
    assert ended["last"]["samples_per_s"] > 0
    for attempt in range(ATTEMPTS):
        diagnosis, again, advised = world.diagnose(), asyncio.run(train(loop)), world.advise()
        if again["measured"] and [a["id"] for a in advised] == ["accumulate"]:
            break
        # other work on the machine has changed the step time, so that it counts as another loop, or the times
        assert attempt < ATTEMPTS - 1, (again, advised)
        wait_until(lambda: world.state == "ready", 20, "the world to be ready")
    diagnosed = diagnosis.communication
    assert diagnosed is not None
    shown = (again["comm_overhead"], again["comm_overhead_error"])
    if measured_data(diagnosis) is not None:
        assert shown == pytest.approx((diagnosed.share, diagnosed.error))
    else:  # waiting for data was too unsteady to measure: beside its estimate, no share is more certain
        assert shown[0] <= diagnosed.share + 1e-9
        assert shown[1] >= diagnosed.error - 1e-9
    [advice] = advised
    [shown] = world.info()["metrics"]["advice"]
    assert shown == {key: advice[key] for key in shown}, "it is of use when the loop has ended"
    assert advice.keys() - shown.keys() == {"text", "vague"}, "what Python adds"
    assert "dt.optimize(model, optimizer, gradient_accumulation_steps=" in advice["diff"], (
        "in an earlier cell"
    )
    # throughput over today's; what is waiting in the measured share is not won
    saved = 1 - 1 / advice["values"]["every"]
    assert 1.03 < advice["gain"] < 1 / (1 - diagnosed.share * saved) + 0.05
    with pytest.raises(BadRequest, match="speed of the network"):
        world.forecast(2)
    with pytest.raises(NotFound, match="nosuch"):
        world.forecast(2, profile="nosuch")
    speeds.save(profiles.load("local"), Between("a", "b", "eth0", Speed(0.0, 1e6)))
    forecast = world.forecast(2)
    assert (forecast["nodes"], forecast["ranks"]) == (2, 4)
    assert 2 < forecast["gain"] < 4.5, "four ranks whose small gradients are soon sent, not 20 ms late"
    before = world.run("print(mark())").stdout
    tried = world.try_advice("accumulate")
    # a batch computes 20 ms, and averaging takes another 20 ms, now once in `every` batches
    assert tried["gain"] == pytest.approx(40 / (20 + 20 / advice["values"]["every"]), rel=0.2)
    assert (tried["predicted"], tried["predicted_error"]) == (advice["gain"], advice["gain_error"])
    assert world.run("print(mark())").stdout == before, "it was taken back"
    assert world.advise()[0]["tried"] == tried
    wait_until(lambda: world.state == "ready", 20, "the world to be ready")
    other = asyncio.run(train(loop + "  # another loop"))
    assert not other["measured"]


def test_workers_are_tried_on_the_loader_that_training_reads(world: dt.Cluster) -> None:
    world.run(SETUP.format(compute=0.02, data=0.0, send=0.0))
    with pytest.raises(NotFound, match='no advice named "nonsense"'):
        world.try_advice("nonsense")
    with pytest.raises(NotFound, match='no advice "workers" on the loop that trained last'):
        world.try_advice("workers")
    world.run(SETUP.format(compute=0.02, data=0.06, send=0.0))

    async def train(then: Callable[[], Awaitable[object]]) -> None:
        running = asyncio.ensure_future(world.run_async("for _ in range(1000): train(16)", check=False))
        try:
            while not (found := (await world.info_async())["metrics"])["current"] or not found["step_s"]:
                await asyncio.sleep(0.1)
            await then()
        finally:
            await world.interrupt_async()
            await running

    async def nothing() -> None:
        pass

    async def refused() -> None:
        with pytest.raises(Conflict, match="A cell is running"):
            await world.try_advice_async("workers")

    asyncio.run(train(refused))
    for attempt in range(ATTEMPTS):
        world.diagnose()  # estimates promise nothing on a busy machine
        try:
            with pytest.raises(BadRequest, match="can't be tried by itself"):
                world.try_advice("more_ranks")
            before = world.run("print(mark())").stdout
            tried = world.try_advice("workers")
            break
        except NotFound:  # other work on the machine takes the cores, or has changed the step time
            if attempt == ATTEMPTS - 1:
                raise
            asyncio.run(train(nothing))
    assert 1.2 < tried["gain"] < 6, "a step waited 60 of its 80 ms for data"
    assert tried["steps"] >= 4
    assert world.run("print(mark())").stdout == before
    assert world.run("import multiprocessing as m; print(m.active_children())").stdout[0] == "[]\n"


def test_a_model_that_is_gone_is_told_from_one_that_never_trained(world: dt.Cluster) -> None:
    world.run(SETUP.format(compute=0.01, data=0, send=0.01))
    world.run(
        """
def fit():
    import gc
    model = DDP(Net())
    model.register_comm_hook(None, late)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(40):
        optimizer.zero_grad(); model(torch.randn(8, 16)).mean().backward(); optimizer.step()
fit()
import gc; gc.collect()"""
    )
    found = world.diagnose()
    assert found.source == "live"
    assert found.communication is not None
    assert (
        "The DDP model that trained last no longer exists: it was created inside a function."
        in found.notes[0]
    )
    for one in world.advise():
        with pytest.raises(BadRequest, match="Keep it in a variable of a cell, and train a step"):
            world.try_advice(one["id"])
        assert not any(again["tryable"] for again in world.advise() if again["id"] == one["id"])


def test_a_loop_that_averages_by_hand_is_told_from_its_own_steps(world: dt.Cluster) -> None:
    world.run(SETUP.format(compute=0.01, data=0, send=0.01))
    world.run(
        """
layer = torch.nn.Linear(16, 16)
by_hand = torch.optim.SGD(layer.parameters(), lr=0.01)
big = torch.ones(4_000_000)
for _ in range(20):
    layer(torch.randn(8, 16)).mean().backward()
    dist.all_reduce(big); big /= 2
    for p in layer.parameters():
        dist.all_reduce(p.grad)
    by_hand.step(); by_hand.zero_grad()"""
    )
    found = world.diagnose()
    assert found.source == "live"
    assert found.notes[0].startswith("The loop that trained last has no DDP model, ")
    assert found.text.startswith("Communication-bound: ")
    assert found.communication is not None
    shown = world.info()["metrics"]["last"]["comm_overhead"]
    assert found.communication.share == pytest.approx(shown), "as all views say it"


def test_a_cell_that_trains_nothing_is_in_the_way(world: dt.Cluster) -> None:
    world.restart()

    async def look() -> None:
        running = asyncio.ensure_future(world.run_async("import time; time.sleep(60)", check=False))
        try:
            while not (await world.info_async())["running"]:
                await asyncio.sleep(0.05)
            with pytest.raises(Conflict, match="is not training"):
                await world.diagnose_async()
        finally:
            await world.interrupt_async()
            await running

    asyncio.run(look())
