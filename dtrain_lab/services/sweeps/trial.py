"""The job request of a trial."""

from __future__ import annotations

from msgspec import UNSET

from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.sweeps import NODES, RANKS_PER_NODE, SweepRequest


def trial_request(
    request: SweepRequest,
    parameters: dict[str, object],
    name: str | None,
    sweep: str | None = None,
    at_once: int = 1,
) -> JobRequest:
    """Return the request of a trial's job.

    Args:
        request: The sweep's request.
        parameters: The trial's own.
        name: Name of the job.
        sweep: Id of the sweep.
        at_once: Number of concurrent trials.
    """
    fields = {field: getattr(request, field) for field in JobRequest.__struct_fields__}
    fields |= {"parameters": {**request.parameters, **parameters}, "name": name}
    fields |= {"sweep": sweep, "at_once": at_once}
    for field, usual in (("nodes", NODES), ("ranks_per_node", RANKS_PER_NODE)):
        if fields[field] is UNSET:
            fields[field] = None if request.ranks else usual  # replaced by `ranks`
    return JobRequest(**fields)
