"""What disk and quota leave, from what their tools print."""

from __future__ import annotations

import pytest

from dtrain_lab.placement.quota import PART, finding, read, sentence
from dtrain_lab.wire.jobs.quota import FreeSpace

DF = "nas:/home/ada   976762584 1000000 512000 1%  /home/my disk"
QUOTA = """Disk quotas for user ada (uid 1000):
     Filesystem   space   quota   limit   grace   files   quota   limit   grace
           /tmp       1       0       0       0       1       0       0       0
  /home/my disk  300000* 200000  400000 1764000    4000       0    5000       0
"""


def printed(disk: str, quota: str = "", lustre: str = "") -> str:
    return f"{disk}\n{PART}\n{quota}{PART}\n{lustre}"


def test_disk_and_quota_of_the_folders_own_file_system() -> None:
    room = read(printed(DF, QUOTA), "/home/my disk/jobs")
    assert room == FreeSpace("/home/my disk/jobs", 512000 << 10, 100000 << 10, 1000)
    assert sentence(room) == (
        "0.5 GiB are free in /home/my disk/jobs; your quota leaves 0.1 GiB; your quota leaves 1,000 files."
    )


def test_without_tools_or_limits_the_disk_alone() -> None:
    assert read(printed(DF), "/x") == FreeSpace("/x", 512000 << 10)
    assert read(printed(DF, "Disk quotas for user ada (uid 1000): none\n"), "/x") == FreeSpace(
        "/x", 512000 << 10
    )
    unlimited = QUOTA.replace("300000* 200000  400000", "300000  0 0").replace(
        "4000       0    5000", "1 0 0"
    )
    assert read(printed(DF, unlimited), "/x") == FreeSpace("/x", 512000 << 10)
    for nonsense in ("", "df: /x: Input/output error", PART, printed("", QUOTA), printed(DF, "\x00 1 2 3")):
        assert read(nonsense, "/x").quota_bytes is None
    assert sentence(FreeSpace("/x")) == ""


def test_a_lustre_file_system_tells_by_its_own_tool() -> None:
    disk = "10.0.0.1@o2ib:/scratch 1000 1 2097152 1% /scratch"
    lustre = "     /scratch/ada\n                1048576  0  3145728  -  10  0  0  -\n"
    assert read(printed(disk, "", lustre), "/scratch/ada") == FreeSpace(
        "/scratch/ada", 2 << 30, 2 << 30, None
    )


@pytest.mark.parametrize(
    ("room", "severity", "message"),
    [
        (FreeSpace("/x", 5 << 30, 2 << 30, 10**6), None, ""),
        (FreeSpace("/x", 5 << 20), "warning", "5 MiB are free in /x."),
        (FreeSpace("/x", 5 << 30, 5 << 20), "warning", "Your quota leaves 5 MiB where /x is."),
        (FreeSpace("/x", 5 << 30, 0), "problem", "Your quota leaves 0 MiB where /x is."),
        (FreeSpace("/x", 0, 1), "problem", "0 MiB are free in /x."),
        (FreeSpace("/x", 5 << 30, None, 12), "warning", "Your quota leaves 12 files where /x is."),
        (FreeSpace("/x", 5 << 30, 5 << 30, 0), "problem", "Your quota leaves 0 files where /x is."),
        (FreeSpace("/x"), None, ""),
    ],
)
def test_what_is_said_of_it(room: FreeSpace, severity: str | None, message: str) -> None:
    found = finding(room, needs=1 << 20)
    if severity is None:
        assert found is None
    else:
        assert found is not None
        assert (found.severity, found.message, found.field) == (severity, message, "profile")
