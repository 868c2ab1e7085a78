"""An environment with the lowest versions that pyproject.toml allows: `python -m matrix 3.11-lowest`.

What only tests need is lent by the environment that runs this.
"""

from __future__ import annotations

import re
import subprocess
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NAME = "lowest"
OPTIONS = (
    *("-W", "ignore::DeprecationWarning"),
    *("-W", "ignore:using dhist requires:UserWarning"),
    *("-W", "ignore:using bookmarks requires:UserWarning"),
)
"""Of pytest: packages at their lowest call what the newest of those below them will do without, and %cd of
IPython 8.18 says that it keeps neither a list of folders nor bookmarks."""
LENT = "lent.pth"
EXTRAS = ("lab", "sweep", "inference", "notebooks")
"""What users may install with the product; what is for its tests alone is lent."""
FLOOR = re.compile(r"([\w.-]+)>=([\d.]+)[^;]*(;.*)?")


def floors(requirements: Iterable[str]) -> list[str]:
    """The same requirements, each at its lowest version.

    Args:
        requirements: such as "ipykernel>=7.1,<8".

    Returns:
        Such as "ipykernel==7.1", with the marker, where there was one.

    Raises:
        ValueError: Where one has no lowest version.
    """
    found = []
    for requirement in requirements:
        read = FLOOR.fullmatch(requirement)
        if read is None:
            raise ValueError(f"{requirement} has no lowest version")
        found.append(f"{read[1]}=={read[2]}{read[3] or ''}")
    return found


def install(own: Path, project: dict[str, Any], torch: str) -> None:
    """Install what the product and its extras need.

    Args:
        own: the environment's Python, of the version that runs this.
        project: that table of pyproject.toml.
        torch: its version, as the table of results has it.

    Raises:
        ValueError: Where pyproject.toml allows another torch.
    """
    extras = project["optional-dependencies"]
    pins = floors(
        dict.fromkeys([*project["dependencies"], *(need for name in EXTRAS for need in extras[name])])
    )
    if not any(torch.startswith(pin.partition("==")[2]) for pin in pins if pin.startswith("torch==")):
        raise ValueError(f"torch {torch} is not the lowest that pyproject.toml allows")
    subprocess.run([str(own), "-m", "pip", "--disable-pip-version-check", "-q", "install", *pins], check=True)
    packages = next((own.parents[1] / "lib").glob("python*/site-packages"))
    (packages / LENT).write_text(f"{sysconfig.get_path('purelib')}\n")
