"""What a look at a notebook found: a problem blocks, a warning may cost time, a note is good to know."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.core.kinds import Severity


class Finding(Struct, frozen=True):
    """One of them. `line` counts from 1 in its cell, as the user sees it; `field`: of the request, and
    `value` what would mend it there.

    `diff`: a change of the notebook that mends it, as a unified diff.
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


def problems(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Those that keep a job from being submitted."""
    return tuple(finding for finding in findings if finding.severity == "problem")
