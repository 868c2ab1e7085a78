"""Findings of the check of a job: a problem blocks it, a warning may cost time, a note informs."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.kinds import Severity


class Finding(Struct, frozen=True):
    """One finding.

    `line` counts from 1 in its cell, as the user sees it. `field` is the request's field at fault, and
    `value` a value that fixes it. `diff`: a change of the notebook that fixes it, as a unified diff.
    `parameter`: the parameter at fault, of a field that has many.
    """

    severity: Severity
    code: str
    message: str
    fix: str = ""
    cell: str | None = None
    line: int | None = None
    field: str | None = None
    value: str | None = None
    diff: str = ""
    parameter: str | None = None


def problems(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings that keep a job from being submitted."""
    return tuple(finding for finding in findings if finding.severity == "problem")


def line(finding: Finding) -> str:
    """Format a finding in one line: severity, place, message and fix."""
    place = f"cell {finding.cell}, line {finding.line}: " if finding.cell else ""
    return f"{finding.severity}: {place}{finding.message} {finding.fix}".rstrip()
