"""`dt.submit`: submits a notebook as a job."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dtrain_lab.api.job import Job
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.validation import checked
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.finding import line as finding_line
from dtrain_lab.wire.jobs.job import JobPlan, JobRequest
from dtrain_lab.wire.kinds import JobLauncher


def submit(
    notebook: str | Path,
    profile: str = "local",
    *,
    nodes: int | None = None,
    ranks_per_node: int | None = None,
    ranks: int | None = None,
    name: str | None = None,
    parameters: dict[str, Any] | None = None,
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
    dry_run: bool = False,
) -> Any:
    """Submit a notebook as a job.

    Args:
        notebook: Path of the saved .ipynb file.
        profile: Name of the profile to run with.
        nodes, ranks_per_node, ranks: Size of the job; by default the profile's.
        name: Name of the job; by default the notebook's.
        parameters: Values for the cell that is tagged `parameters`.
        time: Time limit, "02:00:00".
        launcher: Slurm launcher: "srun" or "torchrun".
        framework: What the notebook trains with: "torch", "tensorflow" or "mindspore"; by default the
            profile's.
        after: Job that has to succeed first.
        retries: Number of restarts after a failure.
        stage: Files and folders to copy to each node's own disk before the ranks start (`dt.staged`).
        partition, environment, interface, options: Override the profile's settings; `environment` is
            "kind:path", `options` are additional options for the scheduler.
        warn_s: Seconds before the time limit at which every rank receives SIGUSR2; 0 for never.
        mail: Address for Slurm's e-mails.
        notify: Command to run when the job ends.
        files: Take the small files of the notebook's folder along.
        monitor: Measure steps and communication; by default as the profile says.
        dry_run: Only plan; returns a `JobPlan` with files, command and findings.

    Returns:
        The `Job`, or a `JobPlan` with `dry_run`.

    Raises:
        BadNotebook: The notebook can't run as a job; the message names cell, line and remedy.
        BadSize, BadProfile, NotFound, Conflict, EnvironmentUnfit, StartFailed: Nothing was submitted.
    """
    portal = Portal.get()
    file = Path(notebook).expanduser().absolute()
    request = JobRequest(
        notebook=str(notebook),
        profile=profile,
        ranks=ranks,
        nodes=nodes,
        ranks_per_node=ranks_per_node,
        name=name,
        parameters=parameters or {},
        time=time,
        launcher=launcher,
        framework=framework,
        after=after.id if isinstance(after, Job) else after,
        retries=retries,
        python=sys.executable,
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
    checked("dt.submit", request)
    if dry_run:
        return plan(portal, request, file)
    return Job(portal, portal.call(portal.jobs.submit(request, file, warn)))


def texts(values: Sequence[str]) -> tuple[str, ...]:
    """Return texts as a request has them; what is no list of texts stays, so that its check refuses it.

    Args:
        values: The texts, as a user has passed them.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        return values  # type: ignore[return-value]
    return tuple(values)


def warn(findings: tuple[Finding, ...]) -> None:
    """Print warnings for the user; the `warnings` module would hide them the second time."""
    for finding in findings:
        print(f"dtrain-lab: {finding_line(finding)}", file=sys.stderr)


def plan(portal: Portal, request: JobRequest, file: Path) -> JobPlan:
    """Return the plan of a job without submitting it.

    Args:
        portal: The portal of this process.
        request: The request.
        file: Path of the notebook.
    """
    return portal.call(portal.jobs.plan(request, file))
