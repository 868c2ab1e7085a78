"""What a back-end reads in a profile: hosts, options, launcher, time limit, requeues."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.backends.sections import overridden, text, texts
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.traits import Traits


class ProfileSettings:
    """Settings of a profile that only its back-end knows; part of `Backend`. Pure."""

    traits: Traits
    section: type[Struct] | None = None
    """Type of the back-end's own table in a profile, for back-ends of other packages.

    In the file, the table is named like the back-end; `sections.section_of` reads it. Each key has a default,
    so that files without the table, and records of earlier versions, can be read.
    """

    def hosts(self, profile: Profile) -> tuple[str, ...]:
        """Return the hosts of a profile to which connections are opened from here; the policy limits them.

        A key `hosts` of the back-end's own table is among them.
        """
        return (*profile.ssh.names, *texts(profile, self.section, "hosts"))

    def sees_files(self, profile: Profile) -> bool:
        """Whether this machine sees the files that the nodes see."""
        return self.traits.shares_folder and not profile.ssh.login

    def time_limit_s(self, profile: Profile) -> float | None:
        """Return the time after which the scheduler ends a job of a profile; None without a limit."""
        return None

    def requeues(self, profile: Profile) -> bool:
        """Whether the scheduler may run a job of a profile again after it has failed."""
        return False

    def options(self, profile: Profile) -> tuple[str, ...]:
        """Return the profile's own options for the scheduler, which an administrator may forbid.

        They are the key `options` of the back-end's own table, if it has one.
        """
        return texts(profile, self.section, "options")

    def launcher(self, profile: Profile) -> str | None:
        """Return the launcher of a job's ranks that a profile names; None for the first of the traits.

        It is the key `launcher` of the back-end's own table, if it has one.
        """
        return text(profile, self.section, "launcher")

    def where(self, profile: Profile) -> str:
        """Return a text that identifies the profile's nodes: measurements hold while it is the same."""
        return repr((profile.ssh, profile.section) if profile.section else profile.ssh)

    def as_asked(self, profile: Profile, request: JobRequest) -> Profile:
        """Return a profile with the scheduler's settings that a job's request overrides.

        They are the keys `partition`, `time` and `options` of the back-end's own table.

        Args:
            profile: The profile.
            request: The request.

        Raises:
            BadRequest: The back-end has no such setting.
        """
        return overridden(profile, self.section, request) if self.traits.schedules else profile

    def without_time_limit(self, profile: Profile) -> Profile:
        """Return a profile without such a limit."""
        return profile
