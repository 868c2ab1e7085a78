"""Tables of profiles that back-ends of other packages declare (`Backend.section`)."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from dtrain_lab.wire.codec import lenient
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
