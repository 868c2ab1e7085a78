"""NCCL's communicators, with a stand-in for the back-end: when they are made, and when they are aborted."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch
import torch.distributed as dist

from dtrain_lab.rank.group import lifecycle
from dtrain_lab.rank.torch import nccl
from dtrain_lab.wire.links import FormGroup


class ProcessGroupNCCL:
    """Notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def eager_connect_single_device(self, device: torch.device) -> None:
        self.asked.append(f"connect {device}")

    def abort(self) -> None:
        self.asked.append("abort")


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ProcessGroupNCCL:
    made = ProcessGroupNCCL()
    monkeypatch.setattr(nccl.group_backends, "backends", lambda group: [object(), made])
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    return made


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("others", [True, False])
def test_it_is_made_only_where_the_gpus_of_all_ranks_work(
    backend: ProcessGroupNCCL, monkeypatch: pytest.MonkeyPatch, own: bool, others: bool
) -> None:
    def query() -> bool:
        if not own:
            raise RuntimeError("CUDA error: device-side assert triggered")
        return True

    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(query=query))
    monkeypatch.setattr(nccl, "_smallest", lambda group, value: min(value, int(others)))
    if own:
        nccl.connect(None)
    else:
        with pytest.raises(RuntimeError, match="device-side assert"):
            nccl.connect(None)
    assert backend.asked == (["connect cuda:1"] if own and others else [])


@pytest.mark.parametrize(("values", "smallest"), [((1, 1), 1), ((1, 0), 0), ((0, 1), 0)])
def test_what_all_ranks_can_do_is_agreed_between_their_cpus(values: tuple[int, int], smallest: int) -> None:
    store = dist.HashStore()

    def agree(rank: int) -> int:
        backend = dist.ProcessGroupGloo(store, rank, 2, timedelta(seconds=20))
        group = SimpleNamespace(_get_backend=lambda device: backend)
        return nccl._smallest(group, values[rank])

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(agree, (0, 1))) == [smallest, smallest]


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "0"), ({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "3"}, "3"), ({"NCCL_ASYNC_ERROR_HANDLING": "1"}, None)],
)
def test_the_watchdog_is_as_the_user_has_set_it(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: str | None
) -> None:
    monkeypatch.setattr(os, "environ", dict(given))
    nccl.switch_watchdog_off()
    assert os.environ.get("TORCH_NCCL_ASYNC_ERROR_HANDLING") == expected
    assert os.environ["TORCH_NCCL_RETHROW_CUDA_ERRORS"] == "0"


def test_a_new_generation_begins_with_the_end_of_what_gpus_still_wait_in(
    backend: ProcessGroupNCCL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may have been interrupted before its GPU: nothing was aborted then."""
    group = lifecycle.Group(0, 2, "cpu:gloo,cuda:nccl", SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(nccl.groups, "group_names", lambda: {"world": "0"})

    def repoint(store: Any, order: FormGroup) -> tuple[str, ...]:
        backend.asked.append("repoint")
        return ()

    monkeypatch.setattr(group, "_repoint", repoint)
    group.form(FormGroup(generation=1, size=2, local_size=2, threads=1, collectives="cpu:gloo,cuda:nccl"))
    assert backend.asked == ["abort", "repoint"]


def test_no_group_waits_for_the_abort_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """An abort frees memory of the GPU, which waits for the collectives of all groups."""
    names = ("c", "a", "b")
    begun = threading.Barrier(len(names), timeout=20)
    aborted: set[str] = set()

    class ProcessGroupNCCL:
        def __init__(self, name: str) -> None:
            self.name = name

        def abort(self) -> None:
            begun.wait()
            aborted.add(self.name)
            if self.name == "b":
                raise RuntimeError("NCCL error")

    wrapper = SimpleNamespace(wrapped_pg=ProcessGroupNCCL("a"))  # by TORCH_DISTRIBUTED_DEBUG=DETAIL
    backends = {"a": wrapper, "b": ProcessGroupNCCL("b"), "c": ProcessGroupNCCL("c")}
    monkeypatch.setattr(nccl.group_backends, "backends", lambda group: [object(), backends[group]])
    monkeypatch.setattr(nccl.groups, "group_names", lambda: {name: name for name in names})
    nccl.abort_all()
    assert aborted == set(names)


def test_a_generation_that_failed_leaves_nothing_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a slot of a group is taken, torch keeps the back-end that is there."""
    store = dist.HashStore()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    try:
        group = lifecycle.Group(0, 1, "gloo", SimpleNamespace())  # type: ignore[arg-type]
        fails = [RuntimeError("Connection closed by peer")]

        def connect(pg: Any) -> None:
            if fails:
                raise fails.pop()

        monkeypatch.setattr(group, "_connect", connect)
        group._store = store  # type: ignore[assignment]
        of_world = lambda: dist.group.WORLD._get_backend(torch.device("cpu"))  # noqa: E731
        order = FormGroup(
            generation=1, size=1, local_size=1, threads=1, collectives="gloo", groups=(("0", (0,), ""),)
        )
        with pytest.raises(RuntimeError, match="closed by peer"):
            group.form(order)
        failed = of_world()
        group.form(msgspec.structs.replace(order, generation=2))
        assert of_world() is not failed
    finally:
        dist.destroy_process_group()
