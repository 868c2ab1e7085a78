"""The refusal of a job that would fail: its problems in one message."""

from __future__ import annotations

import msgspec

from dtrain_lab.errors import BadNotebook, DtrainError
from dtrain_lab.wire.jobs.finding import Finding

TOLD = 3
"""Problems named in a refusal; the others are counted."""


def refuse(findings: tuple[Finding, ...], never: DtrainError | None = None) -> None:
    """Raise if the job would fail.

    Args:
        findings: Findings of the check.
        never: Why the job could never start.

    Raises:
        DtrainError: `never`, if given.
        BadNotebook: There are problems; the message is the first one, the details carry all.
    """
    if never is not None:
        raise never
    problems = [f for f in findings if f.severity == "problem"]
    if not problems:
        return
    texts = [_located(f, "cell" if at else "Cell") for at, f in enumerate(problems[:TOLD])]
    more = f" And {len(problems) - TOLD} more." if len(problems) > TOLD else ""
    raise BadNotebook(
        f"{'; also '.join(text.removesuffix('.') for text in texts)}.{more}",
        problems[0].fix,
        code="notebook_problems",
        details={"findings": msgspec.to_builtins(problems)},
    )


def _located(finding: Finding, cell: str) -> str:
    return (
        f"{cell} {finding.cell}, line {finding.line}: {finding.message}" if finding.cell else finding.message
    )
