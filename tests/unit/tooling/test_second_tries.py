"""`make test` runs what failed a second time: what counts then, and what never does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tries.sh"
ENDS = "def test_b():\n    import os; os._exit(0)\n"
BROKEN = "def test_c():\n    assert 0\n"
RACE = """from pathlib import Path
def test_a():
    before = Path(__file__).with_suffix(".seen")
    seen = before.exists()
    before.touch()
    assert seen
"""


def tries(folder: Path, text: str) -> tuple[int, str]:
    """Exit status, and the names of those that passed at their second try."""
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        ["sh", SCRIPT, folder / "cache", sys.executable, "-q", folder],
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    races = folder / "cache" / "races"
    return done.returncode, races.read_text() if races.exists() else ""


@pytest.mark.parametrize("text", [ENDS + BROKEN, BROKEN + ENDS])
def test_a_process_that_ends_amid_its_tests_is_no_success(tmp_path: Path, text: str) -> None:
    assert tries(tmp_path, RACE) == (0, "test_it.py::test_a\n"), "a cache from an earlier day"
    (tmp_path / "cache" / "v" / "cache" / "lastfailed").write_text('{"test_it.py::test_a": true}')
    code, races = tries(tmp_path, RACE + text)
    assert (code != 0, races) == (True, "")


def test_what_fails_twice_has_failed_and_what_passes_is_clean(tmp_path: Path) -> None:
    assert tries(tmp_path, BROKEN) == (1, "")
    assert tries(tmp_path, "def test_c():\n    pass\n") == (0, "")
