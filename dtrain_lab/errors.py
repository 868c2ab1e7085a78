"""Every error that dtrain-lab raises on purpose.

DtrainError                      code, message, hint, details
├── BadRequest                   the request is invalid                                   (HTTP 400)
│   ├── BadRankSet               "0,2-9" names ranks that overlap, don't exist or can't be read
│   ├── BadProfile               a profile file that can't be used: file, line, nearest known key
│   ├── BadSize                  zero ranks, or more than the machine or the profile offers
│   ├── BadCell                  a cell that can't run anywhere: a syntax error, nothing to run
│   ├── BadNotebook              a notebook that can't become a job: details carry the findings
│   ├── BadValue                 a value that a rank's function can't take; a ValueError and TypeError, too
│   └── UnusedParameters         a DDP model's loss has left parameters out; a RuntimeError, as torch's own
├── NotFound                     a cluster, profile or rank that doesn't exist             (HTTP 404)
├── Conflict                     a name in use, a world in the wrong state                 (HTTP 409)
├── Forbidden                    the administrator or the site doesn't allow it            (HTTP 403)
├── EnvironmentUnfit             Python, torch or dtrain_lab missing or too old           (HTTP 409)
├── Unreachable                  the head of a world doesn't answer                        (HTTP 502)
├── SignInNeeded                 a host asks for something only a person can give          (HTTP 409)
├── StartFailed                  a world that ended before it was ready                    (HTTP 409)
├── FirstRankFailed              the rank that goes first raised; the others waited for it (HTTP 409)
├── WireMismatch                 two dtrain-lab processes with different wire versions     (HTTP 502)
├── CellFailed                   a cell that raised, was interrupted or lost a rank        (HTTP 409)
└── PeerFailed                   a call that ended here because it failed on another rank  (HTTP 409)

The message says what happened and to what; the hint says what to do. Each is one sentence that reads well
in a notebook, a panel and a terminal.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any, ClassVar


class DtrainError(Exception):
    """Base of the tree.

    Args:
        message: One sentence: what happened, and to what.
        hint: One sentence: what to do. Empty if there is nothing to do.
        code: Stable identifier of this particular case, for programs. Defaults to the class's `default_code`.
        details: JSON values that a program may need (line, known keys).
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
        return "\n".join([f"{self.message} {self.hint}".strip(), *self.others])

    @property
    def others(self) -> list[str]:
        """What else is wrong with the same request (`details`: `also`), a line each."""
        return [
            f"{'Warning' if finding.get('severity') == 'warning' else 'Also'}: {_located(finding)}"
            for finding in self.details.get("also", ())
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the error as REST and `--json` report it: `{code, message, hint, details}`."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "details": self.details,
        }

    def _render_traceback_(self) -> list[str]:
        """Lines that IPython shows instead of a traceback: message, hint, and what else is wrong."""
        return [line for line in (self.message, self.hint, *self.others) if line]


class BadRequest(DtrainError):
    """The request is invalid."""

    default_code = "bad_request"


class BadRankSet(BadRequest):
    """A rank set that overlaps itself, can't be parsed, or names a rank that doesn't exist."""

    default_code = "bad_rank_set"


class BadProfile(BadRequest):
    """A profile file that can't be used."""

    default_code = "bad_profile"


class BadSize(BadRequest):
    """A world size that is impossible or not available."""

    default_code = "bad_size"


class BadCell(BadRequest):
    """A cell that can't run on any rank."""

    default_code = "bad_cell"

    def _render_traceback_(self) -> list[str]:
        """Add the position of a syntax error (in `details`), in the colours of IPython's own tracebacks."""
        place, *rows = self.details.get("place") or [""]
        if not place:
            return super()._render_traceback_()
        name, _, text = self.message.partition(": ")
        return [f"\x1b[36m{place}\x1b[39m", *rows, f"\x1b[31m{name}\x1b[39m: {text}", self.hint]


class BadNotebook(BadRequest):
    """A notebook that can't be read, or can't become a job; its details carry the findings."""

    default_code = "bad_notebook"

    def __str__(self) -> str:
        return "\n".join(self._problems()) or super().__str__()

    def _render_traceback_(self) -> list[str]:
        """Lines that IPython shows: one for each problem."""
        return self._problems() or super()._render_traceback_()

    def _problems(self) -> list[str]:
        """Return the findings, a line each: the message names only some of them, and the hint one fix."""
        first, *others = [_located(finding) for finding in self.details.get("findings", ())] or [""]
        if first.startswith("cell ["):  # others may begin with a variable's name, whose case matters
            first = f"C{first[1:]}"
        return [first, *(f"Also: {text}" for text in others)] if first else []


class UnusedParameters(BadRequest, RuntimeError):
    """Parameters of a DDP model that got no gradient; a RuntimeError, as torch's own error about it is."""

    default_code = "unused_parameters"


class BadValue(BadRequest, ValueError, TypeError):
    """An argument of a function that users call in a rank; Python's own errors of values, too."""

    default_code = "bad_value"


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
    """Python, torch or dtrain_lab is missing or too old where the ranks would run."""

    default_code = "environment_unfit"


class Unreachable(DtrainError):
    """The head of a world doesn't answer."""

    default_code = "unreachable"


class SignInNeeded(DtrainError):
    """A host refused the login, or asks a question that only the user can answer."""

    default_code = "sign_in_needed"


class StartFailed(DtrainError):
    """A world ended before it was ready."""

    default_code = "start_failed"


class FirstRankFailed(DtrainError):
    """The first rank raised inside `dt.main_first` or `dt.once_per_node`, for which the others wait."""

    default_code = "first_rank_failed"


class WireMismatch(DtrainError):
    """Two dtrain-lab processes speak different wire versions."""

    default_code = "wire_mismatch"


class CellFailed(DtrainError):
    """A cell raised on a rank, was interrupted, or lost a rank."""

    default_code = "cell_failed"


class PeerFailed(DtrainError):
    """A call that all ranks make together failed on another rank, and so ended on this one."""

    default_code = "peer_failed"


def _located(finding: Mapping[str, Any]) -> str:
    """Return a finding of a job's check in one line: place, message and fix."""
    place = f"cell {finding['cell']}, line {finding['line']}: " if finding.get("cell") else ""
    return f"{place}{finding['message']} {finding.get('fix', '')}".rstrip()


ERRORS_BY_CODE: dict[str, type[DtrainError]] = {
    kind.default_code: kind
    for kind in (
        BadRequest, BadRankSet, BadProfile, BadSize, BadCell, BadNotebook, NotFound, Conflict, Forbidden,
        EnvironmentUnfit, Unreachable, SignInNeeded, StartFailed, FirstRankFailed, WireMismatch,
        CellFailed, PeerFailed, BadValue, UnusedParameters,
    )
}  # fmt: skip


def from_dict(data: Mapping[str, Any]) -> DtrainError:
    """Rebuild an error that another dtrain-lab process reported; the inverse of `DtrainError.as_dict`.

    `kind` (the class's `default_code`) selects the class when `code` names a more specific case.
    """
    code = str(data.get("code", "error"))
    kind = ERRORS_BY_CODE.get(str(data.get("kind", code)), DtrainError)
    return kind(
        str(data.get("message", "")),
        str(data.get("hint", "")),
        code=code,
        details=data.get("details") or {},
    )


FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""Errno values that only file systems raise: they count without a filename, which `write` does not set."""
OF_FILES = frozenset({errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE, errno.ENOTDIR})
"""Errno values that sockets and processes raise, too: they count as a disk's only with a filename."""


def of_disk(error: BaseException) -> Unreachable | None:
    """The error in words of a disk that is full, read-only or gone; None for every other error."""
    if not isinstance(error, OSError) or error.errno not in FULL | OF_FILES:
        return None
    if error.errno not in FULL and not error.filename:
        return None
    where = f"{error.filename}: " if error.filename else ""
    hint = "Check the disk's free space, and who owns the folder."
    return Unreachable(f"{where}{error.strerror}.", hint, code="no_file")
