"""`dt.largest_batch`: the largest per-rank batch that fits the device, or a memory limit on the CPU."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psutil
import torch

from dtrain_lab.errors import BadRequest, BadSize
from dtrain_lab.machine import cgroup
from dtrain_lab.text.units import size_text
from dtrain_lab.training import ranks
from dtrain_lab.training.batch_size.saved_state import communication_off, restored
from dtrain_lab.training.gradients import active_accumulations
from dtrain_lab.training.rank_hooks import hooks

SHARE = 0.8
"""Maximum share of this rank's part of the available memory that is used by default."""
LARGEST = 1 << 20
"""Larger batches are not tried."""
NEAR = 16
"""The search ends when the answer is exact to 1/`NEAR`."""


def largest_batch(step: Callable[[int], object], start: int = 1, memory_bytes: int | None = None) -> int:
    """Find the largest batch of one rank with which a training step fits into memory.

    Doubles the batch, then bisects to within 1/16. On a GPU a batch fits if the step does not run out of
    memory; on a CPU if the peak of the process's resident memory stays within `memory_bytes`. There a size
    that would exceed the limit, judged by the sizes before, is not tried. DDP models exchange nothing in
    these steps, so that a rank may fail alone. Afterwards parameters, buffers, gradients, optimizers,
    schedulers and random numbers are as before; what `step` itself counts or reads is not. Call it on all
    ranks.

    Args:
        step: runs a training step (forward, backward, optimizer) with a batch of that many samples.
        start: first size that is tried.
        memory_bytes: limit of the process's memory on the CPU, bytes; by default this rank's part of 80 % of
            what is available. Omit it on a GPU.

    Returns:
        Samples per rank; the same on all ranks: the smallest of theirs. Sizes above 2²⁰ are not tried; a
        note says so.

    Raises:
        BadRequest: an invalid argument.
        BadSize: not even `start` fits.
    """
    if not callable(step):
        raise BadRequest("dt.largest_batch: step is not a function; it is called with a batch size.")
    if isinstance(start, bool) or not isinstance(start, int) or start < 1:
        raise BadRequest(f"dt.largest_batch: start is {start!r}; it must be a whole number of 1 or more.")
    if memory_bytes is not None and (not isinstance(memory_bytes, int) or memory_bytes < 1):
        raise BadRequest(f"dt.largest_batch: memory_bytes is {memory_bytes!r}; it must be a number of bytes.")
    with ExitStack() as stack:
        stack.enter_context(active_accumulations.resting())
        copies = stack.enter_context(restored())
        stack.enter_context(communication_off())
        on_gpu = torch.cuda.is_available() and memory_bytes is None
        limit = 0 if on_gpu else memory_bytes if memory_bytes is not None else _available()
        probe = _Probe(step, limit, copies)
        if not probe.fits(start):
            raise BadSize(
                f"dt.largest_batch: a batch of {start} does not fit: {probe.why}.",
                "Give a smaller start, more memory, or a smaller model.",
                code="batch_too_large",
            )
        return _search(probe, start)


def _search(probe: _Probe, start: int) -> int:
    low, high = start, 0
    while not high and low < LARGEST:
        wanted = min(2 * low, max(ranks_min(probe.expected(2 * low)), 0))
        if wanted <= low:
            high = low + 1
        elif probe.fits(wanted):
            low, high = wanted, 0 if wanted == 2 * low else wanted + max(1, wanted // NEAR)
        else:
            high = wanted
    while high - low > max(1, low // NEAR):
        middle = (low + high) // 2
        if probe.fits(middle):
            low = middle
        else:
            high = middle
    if low >= LARGEST:
        ranks.say(f"dt.largest_batch: a batch of {low} fits; larger ones are not tried.")
    return low


def ranks_min(value: int) -> int:
    """The smallest value of all ranks; a collective."""
    return int(min(ranks.gather(value)))


class _Probe:
    """Runs a step with a size on all ranks, and tells whether it fits on each of them.

    Args:
        step: runs a step with a batch size.
        limit: bytes of this process on the CPU; 0 on a GPU.
        copies: bytes of copies that were made for the probe itself.
    """

    def __init__(self, step: Callable[[int], object], limit: int, copies: int) -> None:
        self._step = step
        self._limit = limit + copies if limit else 0
        self._copies = copies
        self._peaks: dict[int, int] = {}
        self.why = ""

    def fits(self, size: int) -> bool:
        """Run a step on every rank; a collective."""
        self.why = ""
        failure: BaseException | None = None
        before = _reset_peak() if self._limit else 0
        try:
            with hooks.resting():  # steps that are undone don't count as training
                self._step(size)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
        except (torch.OutOfMemoryError, MemoryError) as error:
            self.why = str(error).split("\n")[0] or type(error).__name__
        except Exception as error:  # noqa: BLE001 # raised below, once all ranks know
            failure = error
            self.why = f"{type(error).__name__}: {error}"
        peak = _peak(before) if self._limit else 0
        self._peaks[size] = peak
        if not self.why and self._limit and peak > self._limit:
            self.why = (
                f"the process takes {size_text(peak - self._copies)} of memory, and the limit is "
                f"{size_text(self._limit - self._copies)}"
            )
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        all_of_them = ranks.gather((self.why, failure is not None))
        if failure is not None:
            raise failure
        broken = [(number, why) for number, (why, is_broken) in enumerate(all_of_them) if is_broken]
        if broken:
            raise BadRequest(
                f"dt.largest_batch: the step failed on rank {broken[0][0]}: {broken[0][1]}",
                "Run the step by itself first.",
            )
        self.why = next((why for why, _ in all_of_them if why), "")
        return not self.why

    def expected(self, wanted: int) -> int:
        """The size up to `wanted` that should still fit, by the growth of memory so far."""
        if not self._limit or len(self._peaks) < 2:
            return wanted
        (small, less), (large, more) = sorted(self._peaks.items())[-2:]
        growth = (more - less) / (large - small)
        if growth <= 0:
            return wanted
        return min(wanted, large + int((self._limit - more) / growth))


def _available() -> int:
    """Memory that this process may use, including what it uses already, bytes."""
    memory = psutil.virtual_memory().available
    allowed = cgroup.memory_limit(cgroup.folders("memory"))
    if allowed is not None:
        memory = min(memory, allowed)
    beside = int(os.environ.get("LOCAL_WORLD_SIZE") or ranks.world_size())
    return int(psutil.Process().memory_info().rss) + int(SHARE * memory / beside)


def _reset_peak() -> int:
    """Begin a new peak of resident memory; returns the resident memory now, bytes."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    return int(psutil.Process().memory_info().rss)


def _peak(least: int) -> int:
    """Peak of resident memory since `_reset_peak`, bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return max(least, int(line.split()[1]) * 1024)
    return least
