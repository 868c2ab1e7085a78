"""Collects all refusals of a request, so that users don't correct one field only to learn of the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from dtrain_lab.errors import BadRequest, BadSize, DtrainError
from dtrain_lab.jobs import staging
from dtrain_lab.services import names
from dtrain_lab.services.policy.limits import Allowed
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.plan import Facts, Plan, Request

OF_SIZE = frozenset(("launcher_size", "one_process", "eight_devices"))
"""Codes of findings that depend on the size."""
BOUNDED = (
    ("retries", 100, "", "A failed job is started again this many times."),
    ("warn_s", 86400, " seconds", "Ranks are warned this long before the time limit."),
)
"""Fields of a request that are numbers: name, highest value, unit, and what the number does."""


def split(request: JobRequest) -> tuple[JobRequest, list[DtrainError]]:
    """Check each value of a request separately.

    Args:
        request: The user's request.

    Returns:
        The request without its invalid values, so that planning can continue; and an error for each of these,
        whose details name its field.
    """
    refused: list[DtrainError] = []
    for field, highest, unit, meaning in BOUNDED:
        value = getattr(request, field)
        if not 0 <= value <= highest:
            refused.append(
                BadRequest(
                    f"{field} is {value:.10g}; it must be 0 to {highest}{unit}.",
                    meaning,
                    details={"field": field},
                )
            )
            request = replace(request, **{field: 0})
    if request.mail is not None and not _is_mail(request.mail):
        refused.append(
            BadRequest(
                f'mail: "{request.mail}" is not an e-mail address.',
                "Write it as name@host.",
                details={"field": "mail"},
            )
        )
        request = replace(request, mail=None)
    try:
        staging.names(request.stage)
    except BadRequest as error:
        refused.append(error)
        request = replace(request, stage=())
    try:
        if request.name is not None:
            names.check(request.name, spaces=True)
    except BadRequest as error:
        refused.append(error)
        request = replace(request, name=None)
    return request, refused


def _is_mail(text: str) -> bool:
    return text.count("@") == 1 and not any(c.isspace() or c in "\"'`$;&|<>\\" for c in text)


def of_usual_size(allowed: Allowed, facts: Facts, wanted: Request, python: str, why: BadSize) -> Plan:
    """Plan a job of impossible size with the profile's size instead, to find its other problems.

    Args:
        allowed: The job's profile, and its back-end.
        facts: What the nodes have.
        wanted: The requested size.
        python: Interpreter of the ranks.
        why: Why that size is impossible.

    Raises:
        BadSize: `why`, if the profile's size is impossible, too.
    """
    usual = Request(wanted.profile, monitor=wanted.monitor)
    try:
        return allowed.plan(facts, usual, python=python, directory="")
    except DtrainError:
        raise why from None


def together(refused: Sequence[DtrainError], findings: Iterable[Finding] = ()) -> DtrainError:
    """Return the first error, with all other problems and warnings in its details, as findings: `also`.

    Args:
        refused: Why the request is refused; at least one error.
        findings: Findings of its plan; if the size is refused, a plan with the profile's size.
    """
    first, *others = refused
    sized = any(isinstance(error, BadSize) for error in refused)
    grave = sorted((f for f in findings if f.severity != "note"), key=lambda f: f.severity != "problem")
    also = [*map(as_finding, others), *(f for f in grave if not sized or f.code not in OF_SIZE)]
    if also:
        first.details["also"] = msgspec.to_builtins(also)
    return first


def as_finding(error: DtrainError) -> Finding:
    """Convert an error to a problem of the field that its details name, with the value that they propose."""
    field, value = (
        text if isinstance(text := error.details.get(name), str) else None for name in ("field", "value")
    )
    return Finding("problem", error.code, error.message, error.hint, field=field, value=value)
