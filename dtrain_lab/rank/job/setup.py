"""Setup of a job's rank before the first cell runs: threads, device, monitor, process group."""

from __future__ import annotations

import gc
import mmap
import os
from pathlib import Path
from typing import Any

from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.environment_variables import JobEnvironment
from dtrain_lab.placement.devices import device_of
from dtrain_lab.placement.frameworks import ascend
from dtrain_lab.placement.layout import collectives_of
from dtrain_lab.rank.group import job_store
from dtrain_lab.wire.kinds import Framework


class Setup:
    """Sets a rank up, and keeps what has to live until its end.

    Args:
        rank: number of this rank.
        folder: the job's folder.
    """

    def __init__(self, rank: int, folder: Path) -> None:
        self.rank, self.folder = rank, folder
        self.monitor: Any = None
        """The training monitor; None without torch, an agent, or where it is off."""

    def begin(self, needed: bool) -> None:
        """Set up threads, device, monitor and process group.

        Args:
            needed: whether the script imports torch.
        """
        from dtrain_lab.training import log

        if self.rank == 0:
            log.to_file(str(self.folder / job_files.VALUES))
        metrics = os.environ.pop(environment_variables.METRICS, "")
        job = JobEnvironment.from_environ()
        monitored = job.monitored
        if job.framework is not None:
            self._begin_framework(job.framework.name, metrics if monitored.on else "")
        if needed:
            self._begin_torch(metrics if monitored.on else "", monitored)

    def _begin_torch(self, metrics: str, monitored: environment_variables.Monitored) -> None:
        """Set up torch: threads, device, monitor, and the group of the ranks that a launcher has started.

        Args:
            metrics: file descriptor of the metrics ring; empty without an agent or a monitor.
            monitored: what the monitor does.
        """
        _load_torch()
        from dtrain_lab.rank.setup import set_threads

        set_threads(os.environ)
        _set_device()
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size > 1:
            from dtrain_lab.rank.torch.compiler import untraced
            from dtrain_lab.training.gradients import unused

            unused.explain(untraced)
        if metrics:
            self._begin_monitor(metrics, size, monitored)
        if "RANK" in os.environ:
            self._form_group(size)

    def _begin_monitor(self, metrics: str, size: int, monitored: environment_variables.Monitored) -> None:
        """Start the training monitor.

        Args:
            metrics: file descriptor of the metrics ring.
            size: number of ranks.
            monitored: what the monitor does.
        """
        from dtrain_lab.rank.monitor.monitor import Monitor
        from dtrain_lab.rank.notes import Notes
        from dtrain_lab.rank.torch import names

        notes = Notes()
        self._ring = mmap.mmap(int(metrics), 0)
        probe, guard = monitored.probe, monitored.guard
        self.monitor = Monitor(memoryview(self._ring), size, probe=probe, guard=guard, say=notes.say)
        if self.rank == 0:  # all ranks lack the same features
            for text in names.silently_lost():
                notes.say(text)

    def _form_group(self, size: int) -> None:
        """Form the ranks' process group, and let the script's own calls find it.

        Args:
            size: number of ranks.
        """
        import torch.distributed as dist

        from dtrain_lab.rank.group.retained_groups import RetainedGroups
        from dtrain_lab.rank.notes import Notes
        from dtrain_lab.rank.setup import install_group_hooks

        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        self._tell_frameworks(size, local)
        collectives = _collectives(local)
        RetainedGroups().watch()
        store = job_store.init(dist.init_process_group, collectives, "first")
        if self.monitor is not None:
            hosts = self.rank == 0 and not job_store.under_torchrun()
            self.monitor.begin_cell("job", size, store, hosts_store=hosts)
        install_group_hooks(_Group(self.rank, size, collectives, store), Notes())

    def _begin_framework(self, name: Framework, metrics: str) -> None:
        """Set up what works with another framework than torch, which may not be installed here.

        Args:
            name: its name.
            metrics: file descriptor of the metrics ring; empty without an agent or a monitor.
        """
        from dtrain_lab.placement.frameworks import names
        from dtrain_lab.rank import marked_steps
        from dtrain_lab.rank.frameworks import tensorflow

        if name == "tensorflow":
            tensorflow.with_moved_names()
        if metrics:
            self._ring = mmap.mmap(int(metrics), 0)
            marked_steps.MarkedSteps(memoryview(self._ring))
            if self.rank == 0:
                marked_steps.say(names.TITLES[name])

    def _tell_frameworks(self, size: int, local: int) -> None:
        from dtrain_lab.rank.frameworks import torch_libraries

        local_rank, node = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("NODE_RANK", "0"))
        variables = torch_libraries.torchrun_variables(self.rank, size, local_rank, local, node, "dtrain-lab")
        for name, value in variables.items():  # torchrun's own values win where it started this process
            os.environ.setdefault(name, value)


def _load_torch() -> None:
    gc.disable()  # collections while torch loads would only scan torch's modules
    import torch.distributed  # noqa: F401

    # permanently: the first optimizer step imports torch's compiler, which would trigger a scan of torch
    gc.freeze()
    gc.enable()


def _has_npu() -> bool:
    return os.environ.get(environment_variables.ACCELERATOR) == "npu"


def _set_device() -> None:
    """Give this rank the device of its local number."""
    import torch

    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if _has_npu():
        import torch_npu  # noqa: F401 # it adds torch.npu and HCCL

        torch.npu.set_device(device_of(local_rank, range(torch.npu.device_count())))
    elif torch.cuda.is_available():
        torch.cuda.set_device(device_of(local_rank, range(torch.cuda.device_count())))


def _collectives(local: int) -> str:
    """Back-ends of the group, as torch names them.

    Args:
        local: number of ranks on this node.
    """
    import torch

    if _has_npu():
        return ascend.COLLECTIVES
    return collectives_of(torch.cuda.is_available() and local <= torch.cuda.device_count())


class _Group:
    """The process group of a job's ranks, as the hooks of `rank.setup` use it."""

    def __init__(self, rank: int, size: int, collectives: str, store: Any) -> None:
        self.rank, self.size, self.collectives, self.store = rank, size, collectives, store
        self._made = 1

    def remake(self) -> None:
        """Make the group again, for a cell that destroyed it; a collective."""
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d

        self._made += 1
        original: Any = getattr(c10d.init_process_group, "__wrapped__", None)
        if original is None:
            return
        # in the store where the ranks first met: another process may hold the port by now
        store = dist.PrefixStore(f"again{self._made}", self.store)
        original(self.collectives, store=store, rank=self.rank, world_size=self.size)
        # wait for all: a rank whose script ended here would close connections that peers are still making
        if store.add("joined", 1) == self.size:
            store.set("whole", "1")
        store.wait(["whole"])
