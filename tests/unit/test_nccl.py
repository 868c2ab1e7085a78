"""NCCL's communicators, with a stand-in for the back-end: when they are made, and when they are aborted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist

from dtrain_lab.rank.group import lifecycle
from dtrain_lab.rank.torch import nccl
from dtrain_lab.wire.links import Form


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
    monkeypatch.setattr(nccl.groups, "backends", lambda group: [object(), made])
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


def test_what_all_ranks_can_do_is_agreed_between_their_cpus() -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        assert nccl._smallest(dist.group.WORLD, 1) == 1
        assert nccl._smallest(dist.group.WORLD, 0) == 0
    finally:
        dist.destroy_process_group()


def test_a_new_generation_begins_with_the_end_of_what_gpus_still_wait_in(
    backend: ProcessGroupNCCL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may have been interrupted before its GPU: nothing was aborted then."""
    group = lifecycle.Group(0, 2, "cpu:gloo,cuda:nccl", SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(lifecycle.groups, "live_groups", lambda: [object()])

    def repoint(store: Any, order: Form) -> tuple[str, ...]:
        backend.asked.append("repoint")
        return ()

    monkeypatch.setattr(group, "_repoint", repoint)
    group.form(Form(generation=1, size=2, local_size=2, threads=1, collectives="cpu:gloo,cuda:nccl"))
    assert backend.asked == ["abort", "repoint"]
