"""The Python interface of sweeps: `dt.sweep`, `dt.sweeps`, `Sweep`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET

from dtrain_lab.api import prompts
from dtrain_lab.api.display.parameter_shares import ParameterShares
from dtrain_lab.api.display.trial_display import TrialFields, TrialList, html_sweep
from dtrain_lab.api.display.wait_line import wait_line
from dtrain_lab.api.job import Job
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.submit import texts, warn
from dtrain_lab.api.submitted import Submitted, own_methods
from dtrain_lab.api.validation import checked
from dtrain_lab.errors import BadRequest, DtrainError
from dtrain_lab.services.policy import parent_server
from dtrain_lab.services.sweeps.sweeps import OnSweep
from dtrain_lab.sweeps import plain_values
from dtrain_lab.sweeps.space import parse, written
from dtrain_lab.sweeps.view import progress
from dtrain_lab.wire.kinds import JobLauncher
from dtrain_lab.wire.sweeps import Direction, Nodes, Pruner, RanksPerNode, Sampler, SweepRequest
from dtrain_lab.wire.sweeps import Sweep as SweepInfo

STOP_WITHIN_S = 60.0
"""Seconds for which `Sweep.stop` waits for the end of the trials."""


class Sweep(Submitted[SweepInfo]):
    """A sweep, which runs independently of this process.

    Args:
        portal: This process's portal.
        info: Last seen state of the sweep.
    """

    @property
    def state(self) -> str:
        """Current state: running, stopping, stopped, succeeded or failed."""
        return self.snapshot().state

    def trials(self) -> list[dict[str, Any]]:
        """Return the trials, in order.

        Returns:
            For each trial: its `number`; its `state` (waiting, running, resumed, pruned, succeeded, failed or
            stopped) and the `reason` for it (`{code, values, text}`, or None); its `parameters`, those that
            vary; the objective's last `value`, the `step` of that, and its `curve`; its latest `job` and all
            of its `jobs`, earlier ones that were resumed included; the first job's `started_at`, the last
            job's `ended_at` (seconds since 1970), and `ran_s`, the seconds for which its jobs have run; how
            often it was resumed (`resumes`), the step of the last resumption (`resumed_step`), and the step
            of the checkpoint from which it can be resumed (`checkpoint_step`). A notebook displays the list
            as a table.

            A `curve` is for a picture: of more than 24 values that were logged, it has 24, evenly spread, the
            first and the last among them, each `{step, value}`; values that are not finite are left out. All
            values that a job has logged are in the `values.jsonl` of its folder, `Job.info()["directory"]`.
        """
        sweep = self.snapshot()
        return TrialList((TrialFields(trial, sweep.objective) for trial in sweep.trials), sweep)

    def best(self) -> dict[str, Any] | None:
        """Return the successful trial with the best objective, as in `trials`; None if none has succeeded."""
        sweep = self.snapshot()
        return None if sweep.best is None else TrialFields(sweep.best, sweep.objective)

    def importance(self) -> ParameterShares:
        """Return the importance of each parameter for the objective, by Optuna's PED-ANOVA.

        Returns:
            A dict: parameter → its share, 0 to 1, the largest first. Empty if the importance is unknown, as
            for a sweep with one parameter or few trials: its `reason` says why, and is displayed with it.
        """
        found = self.snapshot().importance
        missing = found.missing if found is not None else None
        return ParameterShares(found.shares if found is not None else {}, missing.text if missing else "")

    async def _read(self) -> SweepInfo:
        return await self._portal.sweeps.adopted(self.id)

    async def _until_ended(self, on_change: OnSweep | None) -> SweepInfo:
        return await self._portal.sweeps.wait(self.id, on_change)

    def wait(self, timeout: float | None = None, on_change: OnSweep | None = None) -> str:
        """Wait for the end; meanwhile, a line in the notebook or terminal says how far the sweep is.

        Args:
            timeout: Seconds; None for no limit.
            on_change: Called with the state at each poll, in another thread; there is then no line.

        Returns:
            The final state. It is "succeeded" if at least one trial is done, even if others failed.

        Raises:
            TimeoutError: It has not ended in time.
        """
        if on_change is not None:
            return super().wait(timeout, on_change)
        command = f"Its trials: dtrain-lab sweep trials {self.id}"
        notebook = prompts.kernel() is not None
        # other front ends run kernels, too, and have no panel
        panel = notebook and parent_server.has_panel()
        with wait_line(
            progress(self._last),
            notebook=notebook,
            in_notebook="See its trials live in the Distributed panel, under Jobs." if panel else command,
            in_terminal=command,
        ) as show:
            return super().wait(timeout, lambda sweep: show(progress(sweep)))

    def _repr_html_(self) -> str:
        return html_sweep(self.snapshot())

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
            super().wait(timeout)
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
    ranks: int | None = None,
    time: str | None = None,
    launcher: JobLauncher | None = None,
    framework: str | None = None,
    after: str | Job | None = None,
    retries: int = 0,
    stage: Sequence[str] = (),
    partition: str | None = None,
    environment: str | None = None,
    interface: str | None = None,
    options: Sequence[str] = (),
    warn_s: int = 60,
    mail: str | None = None,
    notify: str | None = None,
    files: bool = True,
    monitor: bool | None = None,
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
        ranks: Number of ranks of each trial; the plan chooses its nodes.
        time: Time limit of each trial, "02:00:00".
        after: Job that has to succeed before a trial starts.
        launcher, framework, retries, stage, warn_s, files, monitor: Of each trial, as for `dt.submit`.
        partition, environment, interface, options: The same; they override the profile's settings.
        mail: Address for Slurm's e-mails about each trial.
        notify: Command to run when a trial ends.

    Raises:
        BadRequest, BadNotebook: The search space, the notebook or the objective can't be used.
        BadSize, BadProfile, NotFound, Conflict, EnvironmentUnfit: Nothing was started.
    """
    _check_types(notebook, parameters)
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
        ranks=ranks,
        time=time,
        launcher=launcher,
        framework=framework,
        after=after.id if isinstance(after, Job) else after,
        retries=retries,
        stage=texts(stage),
        partition=partition,
        environment=environment,
        interface=interface,
        options=texts(options),
        warn_s=warn_s,
        mail=mail,
        notify=notify,
        files=files,
        monitor=monitor,
    )
    file = Path(notebook).expanduser().absolute()
    checked("dt.sweep", request)
    portal = Portal.get()
    return Sweep(portal, portal.call(portal.sweeps.create(request, file, warn)))


def _check_types(notebook: object, parameters: object) -> None:
    """Check the types of arguments that a request would not refuse itself, because it gets them converted."""
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


def sweeps() -> list[Sweep]:
    """Return all sweeps of this user, newest first."""
    portal = Portal.get()
    # first: where the folder of sweeps can't be read, that is the error, and no driver is missing
    found = [Sweep(portal, info) for info in portal.call(portal.sweeps.listing())]
    try:
        portal.call(portal.sweeps.adopt())  # without a server, nothing else does
    except (DtrainError, OSError) as error:
        print(f"dtrain-lab: a sweep that runs has no driver: {error}", file=sys.stderr)
    return found


def find(name: str) -> Sweep:
    """Return a sweep by its id or name.

    Raises:
        NotFound: There is no such sweep.
    """
    portal = Portal.get()
    return Sweep(portal, portal.call(portal.sweeps.adopted(name)))
