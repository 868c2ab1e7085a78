"""The Python interface of sweeps: `dt.sweep`, `dt.sweeps`, `Sweep`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import UNSET

from dtrain_lab.api.portal import Portal
from dtrain_lab.api.python_hints import own_methods
from dtrain_lab.api.submit import warn
from dtrain_lab.api.validation import checked
from dtrain_lab.errors import BadRequest
from dtrain_lab.services.sweeps.sweeps import OnSweep
from dtrain_lab.sweeps import plain_values
from dtrain_lab.sweeps.space import parse, written
from dtrain_lab.wire.codec.encode import as_json
from dtrain_lab.wire.sweeps import Direction, Nodes, Pruner, RanksPerNode, Sampler, SweepRequest, Trial
from dtrain_lab.wire.sweeps import Sweep as SweepInfo

TRIAL_FIELDS = (
    "number", "state", "reason", "parameters", "value", "step", "curve", "job", "jobs",
    "started_at", "ended_at", "ran_s", "resumes", "resumed_step", "checkpoint_step",
)  # fmt: skip
"""Fields of a trial in Python, which `Sweep.trials` documents."""
STOP_WITHIN_S = 60.0
"""Seconds for which `Sweep.stop` waits for the end of the trials."""


class Sweep:
    """A sweep, which runs independently of this process.

    Args:
        portal: This process's portal.
        info: Last seen state of the sweep.
    """

    def __init__(self, portal: Portal, info: SweepInfo) -> None:
        self._portal = portal
        self._last = info

    def __repr__(self) -> str:
        return f"<Sweep {self._last.name} {self._last.id}: {self._last.summary.text}>"

    @property
    def id(self) -> str:
        """Id of the sweep."""
        return self._last.id

    @property
    def name(self) -> str:
        """Name of the sweep."""
        return self._last.name

    @property
    def state(self) -> str:
        """Current state: running, stopping, stopped, succeeded or failed."""
        return self.snapshot().state

    @property
    def last_info(self) -> SweepInfo:
        """The state that was last read."""
        return self._last

    def snapshot(self) -> SweepInfo:
        """Return the sweep's complete current state as a typed value."""
        self._last = self._portal.call(self._portal.sweeps.sweep(self.id))
        return self._last

    def info(self) -> dict[str, Any]:
        """Return the sweep's complete current state as a dict, as REST and `--json` report it."""
        return as_json(self.snapshot())

    def trials(self) -> list[dict[str, Any]]:
        """Return the trials, in order.

        Returns:
            For each trial: its `number`; its `state` (waiting, running, resumed, pruned, succeeded, failed or
            stopped) and the `reason` for it (`{code, values, text}`, or None); its `parameters`, those that
            vary; the objective's last `value`, the `step` of that, and its `curve` (at most 24 values, each
            `{step, value}`); its latest `job` and all of its `jobs`, those that it resumed, too; the first
            one's `started_at`, the last one's `ended_at` (seconds since 1970), and `ran_s`, for how many
            seconds its jobs have run; how often it was resumed (`resumes`), from which step last
            (`resumed_step`), and the `checkpoint_step` from which it can be.
        """
        return [_trial(trial) for trial in self.snapshot().trials]

    def best(self) -> dict[str, Any] | None:
        """Return the successful trial with the best objective, as in `trials`; None if none has succeeded."""
        found = self.snapshot().best
        return None if found is None else _trial(found)

    def importance(self) -> dict[str, float]:
        """Return the importance of each parameter for the objective, by Optuna's PED-ANOVA.

        Returns:
            Parameter → its share, 0 to 1, the largest first. Empty if unknown, as for a sweep with one
            parameter or few trials; `info()["importance"]["missing"]` says why.
        """
        found = self.snapshot().importance
        return found.shares if found is not None else {}

    def wait(self, timeout: float | None = None, told: OnSweep | None = None) -> str:
        """Wait for the sweep's end.

        Args:
            timeout: Seconds; None for no limit.
            told: Called with the sweep at each poll.

        Returns:
            The final state.

        Raises:
            TimeoutError: The sweep has not ended in time.
        """
        self._last = self._portal.call(self._wait(timeout, told))
        return self._last.state

    async def _wait(self, timeout: float | None, told: OnSweep | None) -> SweepInfo:
        try:
            async with asyncio.timeout(timeout):
                return await self._portal.sweeps.wait(self.id, told)
        except TimeoutError:
            raise TimeoutError(f"{self._last.name} has not ended in {timeout:g} s.") from None

    def stop(self, *, wait: bool = True, timeout: float | None = STOP_WITHIN_S) -> None:
        """End all running trials and wait for their end, as `Cluster.stop` does; their checkpoints are kept.

        A sweep that has ended stays as it is.

        Args:
            wait: Wait until all trials have ended; False returns once the driver has read the request.
            timeout: Maximum seconds to wait; None for no limit.

        Raises:
            TimeoutError: Trials have not ended in time; they have been requested to end, and will.
        """
        self._last = self._portal.call(self._portal.sweeps.stop(self.id))
        if not wait:
            return
        try:
            self.wait(timeout)
        except TimeoutError:
            raise TimeoutError(
                f"{self.name} is stopping; its trials are still running after {timeout:g} s, and will end."
            ) from None

    def resume(self) -> None:
        """Resume the sweep: stopped trials continue from their checkpoints, those without one start over.

        Raises:
            Conflict: The sweep runs, or has no trials left to run.
        """
        self._last = self._portal.call(self._portal.sweeps.resume(self.id))

    def delete(self, *, force: bool = False) -> None:
        """Remove the sweep, and the jobs of its trials with their folders and checkpoints.

        Args:
            force: Remove jobs even if it is unknown whether they still run, or if a folder can't be removed.

        Raises:
            Conflict: The sweep still runs, or jobs that resumed one of its jobs have their checkpoints there.
            Unreachable: A folder can't be removed; the sweep stays.
        """
        with own_methods(self._portal, self.id):
            self._portal.call(self._portal.sweeps.delete(self.id, force=force))


def _trial(trial: Trial) -> dict[str, Any]:
    """Return a trial as Python shows it; what pictures on the page need is in `info()`."""
    known = as_json(trial)
    return {field: known[field] for field in TRIAL_FIELDS}


def sweep(
    notebook: str | Path,
    space: Mapping[str, Any],
    objective: str,
    *,
    direction: Direction = "minimize",
    sampler: Sampler = "tpe",
    pruner: Pruner | None = None,
    trials: int | None = None,
    parallel: int | None = None,
    profile: str = "local",
    nodes: Nodes = UNSET,
    ranks_per_node: RanksPerNode = UNSET,
    name: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    **options: Any,
) -> Sweep:
    """Run a notebook as many jobs, and search the parameters with the best objective.

    Args:
        notebook: Path of the saved .ipynb file.
        space: Name → `dt.loguniform(1e-5, 1e-1)`, `dt.uniform(0, 1)`, `dt.randint(2, 8)` or a list of values,
            for names that the cell tagged `parameters` assigns; an array, a tensor, a set or a `range` is
            taken as a list.
        objective: Name of a value that the notebook passes to `dt.log`; its last value counts.
        direction: "minimize" or "maximize".
        sampler: "tpe", "random" or "grid" (all combinations of lists).
        pruner: "asha" stops trials early that are not among the best third at 1/27, 1/9 or 1/3 of the
            steps.
        trials: How many at most; by default the whole grid, else 16.
        parallel: How many run at once; by default as many as there are GPUs, or cores without GPUs.
        profile: Name of the profile to run with.
        nodes, ranks_per_node: Size of each trial: 1 each, unless you say otherwise, here or by `ranks`; None
            for the profile's.
        name: Name of the sweep; by default the notebook's.
        parameters: Values that are the same in all trials.
        **options: Other options of `dt.submit`, as `time` or `partition`.

    Raises:
        BadRequest, BadNotebook: The search space, the notebook or the objective can't be used.
        BadSize, BadProfile, NotFound, Conflict, EnvironmentUnfit: Nothing was started.
    """
    if not isinstance(notebook, str | os.PathLike):
        raise BadRequest(
            f"dt.sweep: notebook is {plain_values.kind(notebook)}.",
            "Pass the path of an .ipynb file.",
            details={"field": "notebook"},
        )
    if parameters is not None and not isinstance(parameters, Mapping):
        raise BadRequest(
            f"dt.sweep: parameters is {plain_values.kind(parameters)}.",
            'Pass a dict of names and values, as {"steps": 100}.',
            details={"field": "parameters"},
        )
    request = SweepRequest(
        notebook=str(notebook),
        space=written(parse(space)),
        objective=objective,
        direction=direction,
        sampler=sampler,
        pruner=pruner,
        trials=trials,
        parallel=parallel,
        profile=profile,
        nodes=nodes,
        ranks_per_node=ranks_per_node,
        name=name,
        parameters={key: plain_values.value(value) for key, value in (parameters or {}).items()},
        python=sys.executable,
        **options,
    )
    file = Path(notebook).expanduser().absolute()
    checked("dt.sweep", request)
    portal = Portal.get()
    return Sweep(portal, portal.call(portal.sweeps.create(request, file, warn)))


def sweeps() -> list[Sweep]:
    """Return all sweeps of this user, newest first."""
    portal = Portal.get()
    return [Sweep(portal, info) for info in portal.call(portal.sweeps.listing())]


def find(name: str) -> Sweep:
    """Return a sweep by its id or name.

    Raises:
        NotFound: There is no such sweep.
    """
    portal = Portal.get()
    return Sweep(portal, portal.call(portal.sweeps.sweep(name)))
