"""What a plan was made from (notebook, files, profile), compared at submission to detect changes."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from dtrain_lab.services.plans import packing
from dtrain_lab.services.plans.packing import Survey
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.profile import Profile

MOST_NAMED = 3
UNSEEN = ("names", "python")
"""Fields of a request that have no effect on the plan that the user sees."""


class PlanInputs(Struct, frozen=True):
    """`notebook`: size (bytes) and mtime (ns), empty if it is gone. `files`: those in its folder."""

    notebook: tuple[int, ...]
    files: Survey
    profile: Profile


def read(request: JobRequest, file: Path) -> PlanInputs:
    """Return the current sources; of the files, only the profile's is read.

    Args:
        request: The user's request.
        file: Path of the notebook.

    Raises:
        NotFound, BadProfile: The profile can't be used.
    """
    profile = profiles.load(request.profile)
    try:
        status = file.stat()
        notebook: tuple[int, ...] = (status.st_size, status.st_mtime_ns)
    except (OSError, ValueError):  # reading the notebook will raise the error
        notebook = ()
    return PlanInputs(notebook, packing.survey(file.parent) if request.files else Survey(), profile)


def changed(before: PlanInputs, now: PlanInputs, file: Path) -> list[str]:
    """Return names of the sources that have changed; empty if there are no changes.

    Args:
        before: PlanInputs when the plan was made.
        now: Current sources.
        file: Path of the notebook.
    """
    names_changed = [file.name] if before.notebook != now.notebook else []
    names = sorted({path for path, *_ in set(before.files.files) ^ set(now.files.files)})
    names_changed += names[:MOST_NAMED]
    if len(names) > MOST_NAMED:
        names_changed.append(f"{len(names) - MOST_NAMED} more files")
    if before.profile != now.profile:
        names_changed.append(f'the profile "{now.profile.name}"')
    return names_changed


def changed_fields(planned: JobRequest, asked: JobRequest) -> list[str]:
    """Return fields whose requested value differs from the plan's; defaults count as the plan's.

    Args:
        planned: The plan's request.
        asked: The request of the submission.
    """
    usual = JobRequest(asked.notebook)
    another = ["notebook"] if asked.notebook != planned.notebook else []
    return another + [
        name
        for name in JobRequest.__struct_fields__
        if name not in UNSEEN and getattr(asked, name) not in (getattr(usual, name), getattr(planned, name))
    ]
