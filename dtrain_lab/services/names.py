"""Names that users give to clusters, jobs and profiles."""

from __future__ import annotations

import re

from dtrain_lab.errors import BadRequest, DtrainError

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
SPACED = re.compile(r"[^\W_][\w .-]{0,62}")
"""Names of jobs, in any script."""


def check(
    name: str, error: type[DtrainError] = BadRequest, *, what: str = "a name", spaces: bool = False
) -> str:
    """Validate a name that the user gave, and return it.

    Args:
        name: The name.
        error: Class of the error.
        what: What it is to name.
        spaces: Whether spaces, and letters of any script, are allowed.

    Raises:
        DtrainError: The name is invalid.
    """
    if not (SPACED if spaces else PLAIN).fullmatch(name):
        raise error(
            f'"{name}" can\'t be {what}.',
            f"Use up to 63 letters, digits,{' spaces,' * spaces} dots, dashes and underscores, "
            "beginning with a letter or digit.",
            code="bad_name",
            details={"field": "name"},
        )
    return name
