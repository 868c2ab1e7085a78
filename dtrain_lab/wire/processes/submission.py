"""Submission to a back-end: a cluster or a job."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.kinds import JobLauncher
from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.processes.head_record import Handle, HeadRecord
from dtrain_lab.wire.processes.settings import HeadSettings
from dtrain_lab.wire.profile import Profile


class ClusterRecord(Struct, frozen=True):
    """A cluster as its back-end knows it.

    `directory`: node-local folder of a head on this machine; elsewhere the back-end chooses it. `settings`:
    settings of its head, until the head is started; they are passed on stdin or in a 0600 file.
    """

    id: str
    name: str
    profile: Profile
    plan: Plan
    directory: str = ""
    handle: Handle | None = None
    settings: HeadSettings | None = None

    @property
    def interactive(self) -> bool:
        """Whether a person waits for it, and nothing but its handle is kept of it."""
        return True

    @property
    def launcher(self) -> JobLauncher:
        """What starts its ranks."""
        return "agents"

    @property
    def after(self) -> str | None:
        """What has to succeed before it starts."""
        return None

    @property
    def mail(self) -> str | None:
        """Address that a scheduler notifies."""
        return None

    @property
    def warn_s(self) -> float:
        """Seconds before its time limit at which it is signalled; its head then asks for the limit."""
        return 60


Submission = ClusterRecord | JobRecord


def of_head(record: HeadRecord) -> ClusterRecord:
    """Return the cluster of a head on another machine."""
    remote = record.remote
    assert remote is not None
    return ClusterRecord(record.id, record.name, remote.profile, remote.plan, record.directory, remote.handle)
