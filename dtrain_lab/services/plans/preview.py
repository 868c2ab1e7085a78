"""The preview of a planned job."""

from __future__ import annotations

import difflib

from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.command import submit_command
from dtrain_lab.placement.amounts import time_text
from dtrain_lab.services.plans.planning import Planned
from dtrain_lab.wire.jobs.job import Choice, JobPlan, JobRecord, JobSize, PlannedFile
from dtrain_lab.wire.plan import Facts, SchedulerFacts

MOST_TEXT = 200_000


def preview(planned: Planned, before: str | None = None) -> JobPlan:
    """Return the preview of a planned job.

    Args:
        planned: The planned job, from `prepare`.
        before: Script of this notebook's last job, for a diff.
    """
    record = planned.record
    main = planned.files[f"{job_files.CODE}/{job_files.MAIN}"].decode()
    changes = ""
    if before is not None and before != main:
        changes = "\n".join(
            difflib.unified_diff(
                before.splitlines(), main.splitlines(), "last job", "this job", lineterm="", n=1
            )
        )
    node = record.plan.nodes[0]
    return JobPlan(
        files=tuple(_file(path, data) for path, data in sorted(planned.files.items(), key=_order)),
        command=planned.backend.command(record),
        findings=planned.findings,
        size=JobSize(len(record.plan.nodes), node.ranks),
        changes=changes,
        gpu_hours=_gpu_hours(record, planned.backend.time_limit_s(record.profile)),
        partitions=_choices(planned.facts),
        environment=_environment(record),
        cells=planned.cells,
        modules=planned.modules,
        submit=submit_command(record.request, str(planned.file)),
        id=record.id,
    )


def _choices(facts: Facts) -> tuple[Choice, ...]:
    if not isinstance(facts, SchedulerFacts):
        return ()
    return tuple(
        Choice(
            partition.name,
            len(partition.nodes),
            max((node.gpus for node in partition.nodes), default=0),
            time_text(partition.time_s) if partition.time_s is not None else None,
        )
        for partition in facts.partitions
    )


def _environment(record: JobRecord) -> str:
    environment = record.profile.environment
    if environment.kind == "current":
        return record.plan.python
    return f"{environment.kind}: {environment.path}" if environment.path else environment.kind


def _order(item: tuple[str, bytes]) -> tuple[int, str]:
    name = item[0].rpartition("/")[2]
    leading = [job_files.MAIN, job_files.BATCH]
    return (leading.index(name) if name in leading else len(leading), item[0])


def _file(path: str, data: bytes) -> PlannedFile:
    shown = path.endswith((".py", ".sh", ".txt")) and len(data) < MOST_TEXT
    return PlannedFile(path, len(data), data.decode("utf-8", "replace") if shown else None)


def _gpu_hours(record: JobRecord, limit: float | None) -> float | None:
    gpus = sum(min(node.ranks, node.gpus) for node in record.plan.nodes)
    return gpus * limit / 3600 if limit is not None and gpus else None
