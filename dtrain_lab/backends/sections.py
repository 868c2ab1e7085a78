"""Tables of profiles that back-ends of other packages declare (`Backend.section`)."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.errors import BadRequest
from dtrain_lab.wire.codec import lenient
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.profile import Profile

Section = TypeVar("Section", bound=Struct)


def section_of(profile: Profile, kind: type[Section]) -> Section:
    """Return a profile's table of its back-end.

    Args:
        profile: The profile.
        kind: The table's type, as its back-end declares it.
    """
    return lenient.convert(profile.section, kind)


def texts(profile: Profile, kind: type[Struct] | None, key: str) -> tuple[str, ...]:
    """Return a list of texts in that table; empty if the table has no such key.

    Args:
        profile: The profile.
        kind: The table's type; None for a back-end without a table.
        key: Name of the list.
    """
    return tuple(getattr(section_of(profile, kind), key, ())) if kind is not None else ()


def text(profile: Profile, kind: type[Struct] | None, key: str) -> str | None:
    """Return a text in that table; None if the table has no such key, or the key has no value.

    Args:
        profile: The profile.
        kind: The table's type; None for a back-end without a table.
        key: Name of the text.
    """
    return getattr(section_of(profile, kind), key, None) if kind is not None else None


def overridden(profile: Profile, kind: type[Struct] | None, request: JobRequest) -> Profile:
    """Return a profile with the scheduler's settings of a job's request in that table.

    Args:
        profile: The profile.
        kind: The table's type; None for a back-end without a table.
        request: The request; its `options` are added to the table's.

    Raises:
        BadRequest: The table has no key for one of them.
    """
    overrides: dict[str, Any] = {
        "partition": request.partition,
        "time": request.time,
        "options": request.options,
    }
    overrides = {key: value for key, value in overrides.items() if value}
    for key in overrides:
        if kind is None or key not in kind.__struct_fields__:
            raise BadRequest(
                f'The back-end "{profile.backend}" has no setting {key}.',
                "Leave it out.",
                details={"field": key},
            )
    if kind is None or not overrides:
        return profile
    section = section_of(profile, kind)
    if "options" in overrides:
        overrides["options"] = (*texts(profile, kind, "options"), *request.options)
    return replace(profile, section=msgspec.to_builtins(replace(section, **overrides)))
