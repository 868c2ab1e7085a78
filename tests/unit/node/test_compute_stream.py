"""The clock of a GPU's compute stream, with a device whose time the test moves. No GPU was at hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.ddp_forward import _time_end_of_backward
from dtrain_lab.rank.monitor.step.cuda_stream import MOST, StreamClock, of_device
from dtrain_lab.rank.monitor.step.recorder import Recorder

MS = 1_000_000


class Device:
    """A stream: events are passed in order, at times that the test says."""

    def __init__(self) -> None:
        self.at = 0.0
        self.passed = 0
        self.recorded: list[FakeEvent] = []
        self.made = 0
        self.fails = False

    def event(self) -> FakeEvent:
        self.made += 1
        return FakeEvent(self)


class FakeEvent:
    def __init__(self, device: Device) -> None:
        self.device = device
        self.at = 0.0

    def record(self) -> None:
        if self.device.fails:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        self.at = self.device.at
        self.device.recorded.append(self)

    def query(self) -> bool:
        return self in self.device.recorded[: self.device.passed]

    def elapsed_time(self, end: FakeEvent) -> float:
        assert end.query(), "it would wait for the device"
        return end.at - self.at


@pytest.fixture
def device() -> Device:
    return Device()


def wait(clock: StreamClock, device: Device, ms: float, counted: int = 0) -> None:
    """The stream waits so long."""
    begin = clock.mark()
    device.at += ms
    clock.waited(begin, counted)


def test_a_wait_is_read_once_the_device_has_passed_it_and_not_before(device: Device) -> None:
    clock = StreamClock(device.event)
    wait(clock, device, 3.0)
    device.passed = 1
    assert clock.read() == 0
    device.passed = 2
    assert clock.read() == 3 * MS
    assert clock.read() == 0


def test_what_the_cpu_stood_as_well_is_not_counted_twice(device: Device) -> None:
    clock = StreamClock(device.event)
    wait(clock, device, 3.0, counted=2 * MS)
    wait(clock, device, 1.0, counted=5 * MS)
    device.passed = 4
    assert clock.read() == 1 * MS


def test_events_are_used_again_and_a_queue_that_the_device_never_passes_stays_short(device: Device) -> None:
    clock = StreamClock(device.event)
    for _ in range(10):
        wait(clock, device, 1.0)
        device.passed = len(device.recorded)
        assert clock.read() == MS
    assert device.made == 2
    for _ in range(3 * MOST):
        wait(clock, device, 1.0)
    assert device.made <= 2 * MOST + 2


def test_no_time_is_taken_while_a_graph_is_captured(device: Device) -> None:
    capturing = [True]
    clock = StreamClock(device.event, lambda: capturing[0])
    wait(clock, device, 1.0)
    assert not device.recorded
    capturing[0] = False
    wait(clock, device, 1.0)
    assert len(device.recorded) == 2


def test_a_device_in_an_error_is_left_alone(device: Device) -> None:
    clock = StreamClock(device.event)
    device.fails = True
    wait(clock, device, 1.0)
    assert clock.broken
    device.fails = False
    wait(clock, device, 1.0)
    assert not device.recorded
    assert clock.read() == 0


def test_a_process_without_a_gpu_has_no_such_clock() -> None:
    assert of_device() is None


@pytest.fixture
def memory() -> memoryview:
    return memoryview(bytearray(ring.BYTES))


@pytest.fixture
def recorder(device: Device, memory: memoryview) -> Recorder:
    made = Recorder(ring.Writer(memory))
    made.stream = StreamClock(device.event)
    return made


def test_what_the_stream_waits_in_a_collective_is_communication_of_a_step(
    recorder: Recorder, device: Device, memory: memoryview
) -> None:
    recorder.user_stepped(1)
    with recorder.collective(1):
        device.at += 50.0
    device.passed = 2
    recorder.user_stepped(1)
    last = ring.Reader(memory).last(10)[-1]
    assert 49 * MS < last.exposed <= 51 * MS


@pytest.fixture
def alone() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("several", [False, True])
def test_the_end_of_computation_is_marked_before_ddp_waits_for_its_buckets(
    alone: None, recorder: Recorder, device: Device, several: bool
) -> None:
    """Gradients are seen as they were before DDP gave back what its buckets brought."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> object:
            out = self.layer(x)
            return {"loss": out.mean(), "logits": out} if several else out.mean()

    model = DistributedDataParallel(Net())

    def tenfold(_: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        future.set_result(bucket.buffer() * 10)
        return future

    # DDP looks at the types themselves, not at their names
    tenfold.__annotations__ = {"bucket": dist.GradBucket, "return": torch.futures.Future[torch.Tensor]}
    model.register_comm_hook(None, tenfold)
    seen: list[float] = []
    weight = model.module.layer.weight
    usual = recorder.backward_computed

    def computed() -> None:
        seen.append(float(weight.grad.sum()))
        usual()

    recorder.backward_computed = computed  # type: ignore[method-assign]
    out = model(torch.ones(4, 3))
    _time_end_of_backward(recorder, out)
    at = recorder.backward_began()
    (out["loss"] if several else out).backward()
    device.at += 7.0
    recorder.backward_ended(at)
    assert set(seen) == {3.0}
    assert float(weight.grad.sum()) == 30.0
    device.passed = 2
    assert recorder.stream is not None
    assert recorder.stream.read() == 7 * MS
