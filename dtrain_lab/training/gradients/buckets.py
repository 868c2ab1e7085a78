"""Bucket size tuning: tries sizes of DDP's buckets in the running training, and keeps the best."""

from __future__ import annotations

import inspect
import time
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.training import ranks, store_exchange
from dtrain_lab.training.gradients import unused

SIZES_MB = (None, 1.0, 5.0, 10.0, 50.0, 100.0)
"""Sizes to try, MB; None is torch's default: 25 MB, and 1 MB for the first bucket."""
UNTIMED_STEPS = 3
"""Number of steps with a new size that are not timed: buckets are reordered after the first."""
MOST_STEPS, FEWEST_STEPS = 20, 3
BUDGET_S = 50.0
LEAST_GAIN = 0.02
"""Minimum gain over torch's default for another size to be kept."""


SETTINGS = (
    "device_ids",
    "output_device",
    "dim",
    "process_group",
    "find_unused_parameters",
    "gradient_as_bucket_view",
    "static_graph",
    "mixed_precision",
    "skip_all_reduce_unused_params",
    "batched_grad_copy",
)
"""Options of a DDP model that another bucket size does not change; older releases of torch lack some."""
_made: Counter[str] = Counter()
"""Number of tunings so far, by cell and ranks of the model: all ranks number them in the same way."""
SIZES = ("bucket_bytes_cap", "bucket_bytes_cap_default", "bucket_bytes_cap_list", "_bucket_config")
"""Attributes that hold a model's bucket size; releases of torch have some of them."""


def rebuild(model: DistributedDataParallel, cap_mb: float | None) -> DistributedDataParallel:
    """A DDP model around the same module, with another bucket size and otherwise the same options.

    Args:
        model: the DDP model, which is left as it is.
        cap_mb: size of a bucket in MiB; None for that of DDP.
    """
    accepted = inspect.signature(DistributedDataParallel.__init__).parameters
    options = {name: getattr(model, name) for name in SETTINGS if name in accepted and hasattr(model, name)}
    # torch 2.13 warns of the old name, and gives the new one a meaning that differs only in the first sync
    buffers = "forward_sync_buffers" if "forward_sync_buffers" in accepted else "broadcast_buffers"
    options[buffers] = getattr(model, buffers)
    return DistributedDataParallel(
        model.module,
        init_sync=False,  # the ranks have the same parameters already
        bucket_cap_mb=cap_mb,
        **options,
    )


class Tuning:
    """Tries one size after another, each for some steps of the optimizer, which are timed.

    The model stays the same object: it is given the reducer of a DDP model that was made with the next size.
    All ranks of the model change at the same step, and decide by the slowest rank's times. They compare how
    far they are where a cell begins: after an interrupt some ranks have made more steps than others.

    Args:
        model: the DDP model.
        optimizer: its steps are counted.
        prepared: called with each newly made DDP model, to register a communication hook.
    """

    def __init__(
        self,
        model: DistributedDataParallel,
        optimizer: Any,
        prepared: Callable[[DistributedDataParallel], None] = lambda _: None,
    ) -> None:
        self._model = model
        self._prepared = prepared
        total = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad) / 2**20
        self._all = [size for size in SIZES_MB if size is None or size < total]
        if total > 1:
            self._all.append(float(int(total) + 1))
        self._sizes = self._all
        self.curve: dict[float | None, float] = {}
        """Seconds per step by bucket size in MB; None is torch's default."""
        self.best: float | None = None
        """The size that was kept, MB; None: torch's default."""
        self.done = len(self._sizes) < 2
        self._times: list[float] = []
        self._ended = 0.0
        self._cell = store_exchange.cell()[0]
        members = torch.distributed.get_process_group_ranks(model.process_group)
        self._name = f"dtrain/tuned/{self._cell}/{members}"
        _made[self._name] += 1
        self._name += f"/{_made[self._name]}"
        self._skip = UNTIMED_STEPS
        self._steps = MOST_STEPS
        self._index = 0
        if self.done:
            ranks.say(f"dt.optimize: the model has {total:.1f} MB of gradients, one bucket: nothing to tune.")
        else:
            self._hook = optimizer.register_step_post_hook(self._stepped)

    def _stepped(self, *_: Any) -> None:
        now, before = time.perf_counter(), self._ended
        self._ended = now
        begins = store_exchange.cell()[0] != self._cell
        if begins:
            self._cell = store_exchange.cell()[0]
            self._agree()
            self._ended = time.perf_counter()
        if self.done:
            return
        if begins or self._skip:
            self._skip = max(0, self._skip - 1)
            return
        self._times.append(now - before)
        if len(self._times) == FEWEST_STEPS and not self.curve:
            self._plan()
        if len(self._times) >= self._steps:
            self._next()

    def _agree(self) -> None:
        """Continue if all ranks have tried the same sizes; else restart the slowest rank's current size.

        A collective of the model's process group, at the first step of a cell. The first rank that sees all
        done notes it, as others may be interrupted before they see it, and would wait for that one.
        """
        store = store_exchange.cell()[1]
        if self.done and store is not None and store.check([self._name]):
            self._hook.remove()
            return
        at = len(self._all) if self.done else self._index
        mine = (at, len(self._times), self._skip, self._steps, len(self._sizes), self.done)
        answers = ranks.gather(mine, self._model.process_group)
        if all(each[-1] for each in answers):
            if store is not None:
                store.set(self._name, "1")
            self._hook.remove()
        elif len(set(answers)) > 1 or len(self._times) >= self._steps:  # or all were about to change
            self.done = False
            if not (first := min(answers)[0]):
                self._sizes, self._steps = self._all, MOST_STEPS
            self.curve = {size: self.curve[size] for size in self._sizes[:first]}
            self._begin(first)

    def _plan(self) -> None:
        """Choose the number of steps that fits into the time, by the slowest rank's speed."""
        step_s = self._slowest()
        fit = int(BUDGET_S / step_s / len(self._sizes)) - UNTIMED_STEPS
        self._steps = max(FEWEST_STEPS, min(MOST_STEPS, fit))
        most = max(2, int(BUDGET_S / step_s / (FEWEST_STEPS + UNTIMED_STEPS)))
        if most < len(self._sizes):
            self._sizes = self._sizes[:most]
            ranks.say(f"dt.optimize: a step takes {step_s:.1f} s, so only {most} bucket sizes are tried.")

    def _slowest(self) -> float:
        """Seconds per step of the slowest rank of the model; a collective of its process group."""
        return float(max(ranks.gather(median(self._times), self._model.process_group)))

    def _next(self) -> None:
        size = self._sizes[self._index]
        self.curve[size] = self._slowest()
        if self._index + 1 < len(self._sizes):
            self._begin(self._index + 1)
            return
        best = min(self.curve, key=lambda each: self.curve[each])
        if self.curve[None] / self.curve[best] - 1 < LEAST_GAIN:
            best = None
        if best != size:
            self._use(best)
        self.best, self.done = best, True  # the hook stays until the next cell: another rank may not be done
        curve = ", ".join(f"{_text(size)} {seconds * 1e3:.1f} ms" for size, seconds in self.curve.items())
        gain = self.curve[None] / self.curve[best]
        ranks.say(f"dt.optimize: bucket size {_text(best)} kept, {gain:.2f}x the default's speed ({curve}).")

    def _begin(self, index: int) -> None:
        self._use(self._sizes[index])
        self._index = index
        self._times.clear()
        self._skip = UNTIMED_STEPS
        self._ended = time.perf_counter()

    def _use(self, size: float | None) -> None:
        """Give the model buckets of another size; called between two steps, outside any averaging."""
        rebuilt = rebuild(self._model, size)
        self._prepared(rebuilt)
        self._model.reducer, self._model.logger = rebuilt.reducer, rebuilt.logger
        unused.note(self._model)
        for name in SIZES:  # a reducer that is recreated after an interrupt keeps the size
            if hasattr(rebuilt, name):
                setattr(self._model, name, getattr(rebuilt, name))
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()


def _text(size: float | None) -> str:
    return "default" if size is None else f"{size:g} MB"
