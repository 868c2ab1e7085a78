"""A back-end of another package has a table of its own in profiles."""

from __future__ import annotations

import asyncio
from importlib.metadata import EntryPoint
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from dtrain_lab.backends import registry
from dtrain_lab.backends.base import Backend
from dtrain_lab.backends.sections import section_of
from dtrain_lab.errors import BadProfile, BadRequest, Forbidden, NotFound
from dtrain_lab.placement import policy, profile
from dtrain_lab.services.plans.requests.request import launcher
from dtrain_lab.services.policy import backends, limits
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.profiles import slots
from dtrain_lab.wire.codec import lenient
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.processes.settings import Policy
from dtrain_lab.wire.profile import Profile, Slurm
from dtrain_lab.wire.traits import Traits


class Keys(Struct, frozen=True):
    queue: str = "short"
    priority: int | None = None
    mode: Literal["packed", "spread"] = "packed"
    hosts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    launcher: str | None = None
    allocation: Annotated[str, Meta(pattern=r"^(new|\d+)$", description='"new" or a number')] = "new"


class Farm(Backend):
    name = "farm"
    traits = Traits(schedules=True, launchers=("srun", "torchrun"))
    section = Keys


class Strict(Struct, frozen=True):
    queue: str


Farm.__abstractmethods__ = frozenset()
WHOLE = """
backend = "farm"
[farm]
queue = "long"
hosts = ["gate"]
options = ["-x"]
"""


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(group: str, name: str | None = None) -> object:
        points = {"farm": Farm, "nodes": Farm}
        return [EntryPoint(one, f"{__name__}:Farm", group) for one in points if name in (None, one)]

    monkeypatch.setattr(registry, "entry_points", found)
    monkeypatch.setattr(registry, "names", lambda: ["farm", "local", "nodes"])
    backends.backend.cache_clear()


def read(text: str) -> Profile:
    return profile.parse(text, "p", "p.toml", backends.section)


def test_its_table_is_read_with_defaults() -> None:
    found = read(WHOLE)
    assert section_of(found, Keys) == Keys("long", hosts=("gate",), options=("-x",))
    assert found.section["mode"] == "packed", "a record shows all keys"
    assert section_of(read('backend = "farm"\n'), Keys) == Keys()
    assert section_of(lenient.decode(msgspec.json.encode(found), Profile), Keys).queue == "long"


def test_a_key_that_an_earlier_version_had_is_ignored_in_records() -> None:
    assert section_of(Profile("farm", section={"queue": "long", "gone": 1}), Keys) == Keys("long")


@pytest.mark.parametrize(
    ("text", "line", "part", "hint"),
    [
        ("[farm]\nque = 1\n", 3, 'unknown key "[farm] que"', "Did you mean queue?"),
        ("[farn]\nqueue = 1\n", 2, 'unknown key "farn"', "Did you mean farm?"),
        ("[farm]\npriority = 'high'\n", 3, "[farm] priority takes a whole number, not text", "priority = 2"),
        ("[farm]\nhosts = [1]\n", 3, "[farm] each value of hosts has to be text in quotes", "Correct"),
        ("[farm]\nmode = 'speed'\n", 3, '[farm] mode is "speed"', "Use one of packed, spread."),
        ("[farm]\nallocation = 'nwe'\n", 3, '[farm] allocation is "nwe"', 'Use "new" or a number.'),
        ("[farm]\nallocation = 3\n", 3, "[farm] allocation takes text in quotes, not a whole", '"…"'),
        ("farm = 1\n", 2, "farm takes a table, not a whole number", "Correct"),
    ],
)
def test_its_errors_name_line_and_key(text: str, line: int, part: str, hint: str) -> None:
    with pytest.raises(BadProfile) as refused:
        read('backend = "farm"\n' + text)
    assert refused.value.details["line"] == line
    assert part in refused.value.message
    assert hint in refused.value.hint


def test_a_key_without_default_is_asked_for() -> None:
    with pytest.raises(BadProfile, match=r"\[farm\] has no queue"):
        profile.parse('backend = "farm"\n', "p", "p.toml", lambda backend: Strict)


def test_the_table_belongs_to_profiles_of_its_back_end_only() -> None:
    with pytest.raises(BadProfile, match='unknown key "farm"'):
        read('backend = "local"\n[farm]\nqueue = "x"\n')


def test_a_table_cannot_have_the_name_of_a_key_of_all_profiles() -> None:
    with pytest.raises(NotFound, match='"nodes", which is a key of all profiles'):
        backends.backend("nodes")


@pytest.mark.parametrize(
    ("rules", "said"),
    [(Policy(options=False), "extra options"), (Policy(hosts=("gpu-*",)), "the host gate")],
)
def test_the_administrator_limits_its_options_and_hosts(rules: Policy, said: str) -> None:
    found = read(WHOLE)
    uses = limits.uses(backends.backend("farm"), found)
    policy.check(Policy(), found, uses)
    with pytest.raises(Forbidden, match=said):
        policy.check(rules, found, uses)


def test_its_hosts_are_known_where_hosts_are_asked_for() -> None:
    profiles.write("farmed", WHOLE)
    assert asyncio.run(slots.hosts("farmed")) == ("gate",)


def test_speeds_are_measured_again_when_the_table_changes() -> None:
    farm, one = backends.backend("farm"), read(WHOLE)
    assert farm.where(one) != farm.where(msgspec.structs.replace(one, section={"queue": "short"}))


def test_a_job_overrides_its_options() -> None:
    asked = backends.backend("farm").as_asked(read(WHOLE), JobRequest("nb.ipynb", options=("-y",)))
    assert section_of(asked, Keys).options == ("-x", "-y")
    with pytest.raises(BadRequest, match="has no setting partition") as refused:
        backends.backend("farm").as_asked(read(WHOLE), JobRequest("nb.ipynb", partition="gpu"))
    assert refused.value.details == {"field": "partition"}


def test_its_launcher_starts_the_ranks_unless_the_job_names_one() -> None:
    farm, named = backends.backend("farm"), read('backend = "farm"\n[farm]\nlauncher = "torchrun"\n')
    asked = JobRequest("nb.ipynb")
    assert launcher(asked, read(WHOLE), farm) == "srun"
    assert launcher(asked, named, farm) == "torchrun"
    assert launcher(JobRequest("nb.ipynb", launcher="srun"), named, farm) == "srun"
    with pytest.raises(BadProfile, match=r'\[farm\] launcher is "mpirun"') as refused:
        launcher(asked, Profile("farm", section={"launcher": "mpirun"}), farm)
    assert refused.value.hint == "Use srun or torchrun."
    with pytest.raises(BadRequest, match='no launcher "agents"'):
        launcher(JobRequest("nb.ipynb", launcher="agents"), named, farm)


def test_a_job_overrides_slurms_table() -> None:
    profile = Profile("slurm", slurm=Slurm(partition="a", qos="long", options=("-x",)))
    request = JobRequest("nb.ipynb", partition="b", time="01:00:00", options=("-y",))
    asked = backends.backend("slurm").as_asked(profile, request)
    assert asked.slurm == Slurm(partition="b", qos="long", time="01:00:00", options=("-x", "-y"))
