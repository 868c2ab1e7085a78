"""The loop over a rank's batches. Ranks report rounds to each other: if one fails, all stop."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from tqdm import tqdm

from dtrain_lab.errors import BadRequest
from dtrain_lab.training.inference.batch_shares import Plan
from dtrain_lab.training.inference.inputs import ModelCall, Splitter, placed
from dtrain_lab.training.inference.rank_exchange import Ranks, Sums

Take = Callable[[int, Any, ModelCall], None]
"""Called with a batch's number, the model's output and the model's arguments."""
BAR_AFTER_S = 1.0
"""A call that ends sooner shows no bar."""
BAR_EVERY_S = 0.5
"""Each refresh of the bar is an output of the cell, which costs processor time on its way."""
AHEAD = 4
"""Messages by which a rank may be ahead of another: ranks that are slow in turn don't wait for each other."""
REPORT_EVERY_S = 0.5
"""Minimum interval between two reports of a rank to the others: each report wakes threads on all ranks."""
FEWEST_MESSAGES = 8
"""Minimum number of reports of a rank in a call, if the call has that many rounds."""


@dataclass
class Loop:
    """One call's loop on this rank.

    Args:
        ranks: this rank among the others.
        plan: who takes which batches.
        load: loads batches by their numbers.
        forward: the model, ready to be called.
        split: converts a batch to the model's arguments.
        device: device for its inputs; None to leave them where they are.
        in_step: whether ranks have to call the model equally often.
        take: gets each output.
        chunk: a block around each chunk, with its batches.
    """

    ranks: Ranks
    plan: Plan
    load: Callable[[list[int]], Any]
    forward: Callable[..., Any]
    split: Splitter
    device: torch.device | None
    in_step: bool
    take: Take
    chunk: Callable[[range], AbstractContextManager[Any]] = lambda _: nullcontext()

    def run(self) -> None:
        """Take all batches; a collective.

        Raises:
            PeerFailed: It failed on another rank.
            Exception: What loading, the model or `take` raised on this rank.
        """
        error: Exception | None = None
        batches = self.plan.batches
        done = batches.samples - sum(len(batches.span(chunk)) for chunk in self.plan.chunks)
        loaded = _Loaded(self)
        with self._bar(done) as bar:
            reports = _RoundReports(self.ranks, self.in_step, self.plan.rounds, bar)
            for number in range(self.plan.rounds):
                chunk = self.plan.chunk(number, self.ranks.number)
                take_chunk = self._together if self.in_step else self._alone
                try:
                    if error is None and not reports.failed():
                        with self.chunk(chunk):
                            take_chunk(loaded, chunk, number, bar)
                        if chunk and chunk.stop - 1 == loaded.last:
                            loaded.end()
                except _Forward as failed:
                    raise failed.error from None
                except Exception as failed:  # noqa: BLE001 # raised again, once the other ranks know
                    error = failed
                if reports.report(error, len(batches.span(chunk))):
                    break
            reports.end()
            self.ranks.outcomes(None, error)
            bar.update(bar.total - bar.n)  # what other ranks have taken since their last report

    def _alone(self, loaded: _Loaded, chunk: range, _: int, bar: tqdm[Any]) -> None:
        for batch in chunk:
            call = loaded.next()
            self.take(batch, self.forward(*call.args, **call.kwargs), call)
            bar.update(len(self.plan.batches.of(batch)))

    def _together(self, loaded: _Loaded, chunk: range, number: int, bar: tqdm[Any]) -> None:
        """The same if each call of the model is a collective: a rank without a batch repeats one."""
        error: Exception | None = None
        for step in range(self.plan.steps(number)):
            mine = step < len(chunk)
            call = ModelCall((), {})
            try:
                call = loaded.next() if mine else loaded.again()
            except Exception as failed:  # noqa: BLE001 # raised below, once the other ranks know
                error = failed
            if self.ranks.sums(int(error is not None))[0]:
                break
            try:
                output = self.forward(*call.args, **call.kwargs)
            except Exception as failed:  # the others are inside the model: nobody could read a report
                raise _Forward(failed) from failed
            try:
                if mine:
                    self.take(chunk[step], output, call)
                    bar.update(len(self.plan.batches.of(chunk[step])))
            except Exception as failed:  # noqa: BLE001 # raised below, once the other ranks know
                error = failed
        if error is not None:
            raise error

    def _bar(self, done: int) -> tqdm[Any]:
        return tqdm(
            total=self.plan.batches.samples, initial=done, desc=self.ranks.call, unit=" samples",
            delay=BAR_AFTER_S, mininterval=BAR_EVERY_S, disable=self.ranks.number > 0, file=sys.stderr,
        )  # fmt: skip


@dataclass
class _Since:
    """Contents of a rank's next report: number of rounds, samples in them, and since when.

    `shown`: the bar shows what the others reported with it.
    """

    rounds: int = 0
    samples: int = 0
    shown: bool = False
    began: float = field(default_factory=time.monotonic)

    @property
    def elapsed_ms(self) -> int:
        """Milliseconds until now; 1 at least."""
        return max(1, round((time.monotonic() - self.began) * 1000))


class _RoundReports:
    """Reports that ranks exchange after rounds: whether one failed, and how many samples it took.

    They report each of the first two rounds; later, where rounds are short, several at once. That number is
    the same on all ranks, as it follows from the time of a round in the reports. Later rounds may take
    longer, so it at most doubles with each report, and at least `FEWEST_MESSAGES` are exchanged. A
    rank reads a report at most `AHEAD` reports after it, and all ranks stop after the same round, so that
    they have begun the same collectives. Ranks that call the model in step report each round, and read the
    report before the next.
    """

    def __init__(self, ranks: Ranks, in_step: bool, rounds: int, bar: tqdm[Any]) -> None:
        self._ranks = ranks
        self._most = max(1, rounds // FEWEST_MESSAGES)
        self._in_step = in_step
        self._bar = bar
        self._begun: deque[tuple[_Since, Sums]] = deque()
        self._since = _Since()
        self._each = 1
        self._ahead = 0 if in_step else 1

    def failed(self) -> bool:
        """Whether a rank is known to have failed, so that further batches would be wasted."""
        return any([self._show_progress(report, sums) for report, sums in self._begun if sums.there])

    def report(self, error: Exception | None, samples: int) -> bool:
        """Report a round of this rank, together with earlier unreported rounds.

        Returns:
            Whether to stop, on all ranks alike.
        """
        self._since.rounds += 1
        self._since.samples += samples
        if self._since.rounds < self._each:
            return False
        since = self._since
        self._begun.append(
            (since, self._ranks.sums_begun(int(error is not None), since.samples, since.elapsed_ms))
        )
        self._since = _Since()
        return len(self._begun) > self._ahead and self._read_rounds()

    def end(self) -> None:
        """Read all reports that are left."""
        while self._begun:
            self._read_rounds()

    def _read_rounds(self) -> bool:
        since, sums = self._begun.popleft()
        failed = self._show_progress(since, sums)
        if not self._in_step:  # all ranks read the same, after the same report
            round_ms = sums.wait()[2] / self._ranks.size / since.rounds
            self._each = max(1, min(int(REPORT_EVERY_S * 1000 / round_ms), 2 * self._each, self._most))
            self._ahead = AHEAD
        return failed

    def _show_progress(self, since: _Since, sums: Sums) -> bool:
        """Show the progress of the other ranks, once; returns whether one has failed."""
        failures, samples, _ = sums.wait()
        if not failures and not since.shown:
            since.shown = True
            self._bar.update(samples - since.samples)
        return failures > 0


class _Forward(Exception):
    """A model that all ranks call in step has failed: the others are inside it, and read no report."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class _Loaded:
    """This rank's batches, as the model's arguments."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._numbers = loop.plan.mine(loop.ranks.number)
        self._batches: Iterator[Any] | None = None
        self._latest: ModelCall | None = None
        self.last = self._numbers[-1] if self._numbers else -1

    def next(self) -> ModelCall:
        """The next batch, on the model's device."""
        if self._batches is None:
            self._batches = iter(self._loop.load(self._numbers))
        self._latest = self._call(next(self._batches, _NONE))
        return self._latest

    def again(self) -> ModelCall:
        """Some batch: the latest, or the dataset's first."""
        if self._latest is None:
            self._latest = self._call(next(iter(self._loop.load([0])), _NONE))
        return self._latest

    def end(self) -> None:
        """Read to the loader's end, so that it notices surplus samples."""
        if self._batches is not None and next(self._batches, _NONE) is not _NONE:
            raise _wrong()

    def _call(self, batch: Any) -> ModelCall:
        if batch is _NONE:
            raise _wrong()
        return self._loop.split(placed(batch, self._loop.device))


_NONE = object()


def _wrong() -> BadRequest:
    return BadRequest(
        "The dataset's loader yields a different number of batches than the dataset's length implies.",
        "Let its __len__ return the number of samples that it yields.",
    )
