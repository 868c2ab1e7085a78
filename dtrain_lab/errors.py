"""Every error that dtrain-lab raises on purpose.

DtrainError                      code, message, hint, details
├── BadRequest                   the caller asked for something that makes no sense       (HTTP 400)
│   ├── BadRankSet               "0,2-9" names ranks that overlap, don't exist or can't be read
│   ├── BadProfile               a profile file that can't be used: file, line, nearest known key
│   ├── BadSize                  zero ranks, or more than the machine or the profile has
│   ├── BadCell                  a cell that can't run anywhere: a syntax error, nothing to run
│   └── BadNotebook              a notebook that can't become a job: details carry the findings
├── NotFound                     a cluster, profile or rank that doesn't exist             (HTTP 404)
├── Conflict                     a name in use, a world in the wrong state                 (HTTP 409)
├── Forbidden                    the administrator or the site doesn't allow it            (HTTP 403)
├── EnvironmentUnfit             Python, torch or dtrain_lab missing or too old in a place (HTTP 409)
├── Unreachable                  the head of a world doesn't answer                        (HTTP 502)
├── SignInNeeded                 a host asks for something only a person can give          (HTTP 409)
├── StartFailed                  a world that ended before it was ready                    (HTTP 409)
├── WireMismatch                 two processes of ours that speak different versions       (HTTP 502)
└── CellFailed                   a cell that raised, was interrupted or lost a rank        (HTTP 409)

A message says who and what; a hint says what to do. Both are one sentence each, fit for a notebook, a
panel and a terminal alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class DtrainError(Exception):
    """Base of the tree.

    Args:
        message: one sentence: who and what.
        hint: one sentence: what to do; empty where there is nothing to do.
        code: stable name of the very case, for programs; defaults to the class's own.
        details: JSON values that a program may want (line, known keys, history).
    """

    default_code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.default_code
        self.details: dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def as_dict(self) -> dict[str, Any]:
        """The error as REST and `--json` give it: `{code, message, hint, details}`."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "details": self.details,
        }

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback: the sentence, then what to do."""
        return [line for line in (self.message, self.hint) if line]


class BadRequest(DtrainError):
    """The caller asked for something that makes no sense."""

    default_code = "bad_request"


class BadRankSet(BadRequest):
    """A rank set that overlaps itself, can't be read, or names a rank that doesn't exist."""

    default_code = "bad_rank_set"


class BadProfile(BadRequest):
    """A profile file that can't be used."""

    default_code = "bad_profile"


class BadSize(BadRequest):
    """A world of a size that can't be."""

    default_code = "bad_size"


class BadCell(BadRequest):
    """A cell that can't run on any rank."""

    default_code = "bad_cell"


class BadNotebook(BadRequest):
    """A notebook that can't be read, or can't become a job; its details carry the findings."""

    default_code = "bad_notebook"


class NotFound(DtrainError):
    """There is no such cluster, profile or rank."""

    default_code = "not_found"


class Conflict(DtrainError):
    """The name is in use, or the world is in a state that doesn't allow it."""

    default_code = "conflict"


class Forbidden(DtrainError):
    """The administrator or the site doesn't allow it."""

    default_code = "forbidden"


class EnvironmentUnfit(DtrainError):
    """Python, torch or dtrain_lab is missing or too old in the place where ranks would run."""

    default_code = "environment_unfit"


class Unreachable(DtrainError):
    """The head of a world doesn't answer."""

    default_code = "unreachable"


class SignInNeeded(DtrainError):
    """A host refused us, or asks for something that only a person can give."""

    default_code = "sign_in_needed"


class StartFailed(DtrainError):
    """A world ended before it was ready."""

    default_code = "start_failed"


class WireMismatch(DtrainError):
    """Two processes of ours speak different versions."""

    default_code = "wire_mismatch"


class CellFailed(DtrainError):
    """A cell raised on a rank, was interrupted, or lost a rank."""

    default_code = "cell_failed"


ERRORS_BY_CODE: dict[str, type[DtrainError]] = {
    kind.default_code: kind
    for kind in (
        BadRequest, BadRankSet, BadProfile, BadSize, BadCell, BadNotebook, NotFound, Conflict, Forbidden,
        EnvironmentUnfit, Unreachable, SignInNeeded, StartFailed, WireMismatch, CellFailed,
    )
}  # fmt: skip


def from_dict(data: Mapping[str, Any]) -> DtrainError:
    """The inverse of `DtrainError.as_dict`: an error that another process of ours reported.

    `kind` (the class's own code) picks the class where the very case has a code of its own.
    """
    code = str(data.get("code", "error"))
    kind = ERRORS_BY_CODE.get(str(data.get("kind", code)), DtrainError)
    return kind(
        str(data.get("message", "")),
        str(data.get("hint", "")),
        code=code,
        details=data.get("details") or {},
    )
