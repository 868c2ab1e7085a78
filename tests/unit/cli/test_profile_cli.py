"""`dtrain-lab profile delete`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dtrain_lab.cli.main import main
from dtrain_lab.services import paths


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "profiles", lambda: tmp_path)
    for name in ("local", "mine"):
        (tmp_path / f"{name}.toml").write_text('backend = "local"\n')
    (tmp_path / "broken.toml").write_text("a = ")
    return tmp_path


def terminal(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["profile", "delete", *words])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_a_profile_is_deleted_once_that_is_confirmed(folder: Path) -> None:
    for words in (("mine",), ("mine", "--json")):
        refused = terminal(*words, code=2)
        assert "Delete the profile mine (" in refused.stderr
        assert "--yes" in refused.stderr
        assert refused.stdout == ""
    assert (folder / "mine.toml").exists()
    assert terminal("mine", "--yes").stdout == "mine is deleted.\n"
    assert not (folder / "mine.toml").exists()
    assert json.loads(terminal("broken", "--yes", "--json").stdout) == {"name": "broken", "state": "deleted"}
    assert "local is the built-in profile again." in " ".join(terminal("local", "--yes").stdout.split())


def test_what_is_not_there_or_built_in_is_refused_before_a_question(folder: Path) -> None:
    assert 'There is no profile "min". Did you mean mine?' in terminal("min", code=3).stderr
    (folder / "local.toml").unlink()
    assert "local is built in: it has no file that could be deleted." in terminal("local", code=4).stderr
