"""The wheel: the built front end inside, nothing of this machine, installable without Node."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from dtrain_lab.services.quickstart import PAGES, quickstart

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of what git tracks, with a production front end."""
    tree = tmp_path_factory.mktemp("wheel") / "tree"
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    (tree / "node_modules").symlink_to(ROOT / "node_modules")
    for name in ("lib", "tsconfig.tsbuildinfo"):  # the compiler keeps what it made of the same sources
        if (ROOT / name).exists():
            subprocess.run(["cp", "-a", ROOT / name, tree], check=True)
    for script in ("build:lib", "build:labextension"):
        subprocess.run(["npm", "run", "-s", script], cwd=tree, check=True, capture_output=True)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check"]
    subprocess.run(build, cwd=tree, check=True, capture_output=True)
    (found,) = (tree / "dist").glob("*.whl")
    return found


def test_it_carries_the_front_end_and_nothing_of_this_machine(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert any(n.endswith("labextensions/dtrain-lab/static/style.js") for n in names)
        assert any(n.endswith("labextensions/dtrain-lab/install.json") for n in names)
        assert any(n.endswith("jupyter_server_config.d/dtrain_lab.json") for n in names)
        assert any(n.endswith("schemas/dtrain-lab/panel.json") for n in names)
        assert {"dtrain_lab/notebooks/debugging.ipynb", "dtrain_lab/docs/pictures/debugger.png"} <= set(names)
        assert shipped_for_quickstart() <= set(names)
        assert not [n for n in names if n.endswith((".map", "build_log.json")) or "tests/" in n]
        for name in names:
            text = archive.read(name)
            assert str(ROOT).encode() not in text, name
            assert str(wheel.parents[1]).encode() not in text, name


def shipped_for_quickstart() -> set[str]:
    """Paths in a wheel of what the quickstart leads to: a checkout has it all."""
    return {
        f"dtrain_lab/docs/{path.removeprefix(f'{PAGES}/')}" if path.startswith(PAGES) else
        f"dtrain_lab/notebooks/{path}"
        for path in quickstart()
    }  # fmt: skip


def test_what_the_quickstart_leads_to_is_told_to_the_build() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert shipped_for_quickstart() <= set(told["force-include"].values())
    assert {f"dtrain_lab/docs/{page}.md" for page in ("guide", "inference", "metrics", "sweeps")} <= (
        shipped_for_quickstart()
    )


def test_its_base_install_has_no_jupyterlab(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    base = [r for r in metadata.get_all("Requires-Dist", []) if "extra ==" not in r]
    assert base
    assert not [r for r in base if r.lower().startswith(("jupyterlab", "notebook"))]
    assert [r for r in base if r.startswith("torch")] == ["torch>=2.8"]


def test_it_installs_without_node_and_jupyter_says_ok(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "fresh", with_pip=False, system_site_packages=False)
    python = tmp_path / "fresh" / "bin" / "python"
    # this environment's packages stand in for a download; the wheel itself is installed for real
    site = next((tmp_path / "fresh" / "lib").glob("python*/site-packages"))
    ours = next(p for p in sys.path if p.endswith("site-packages"))
    (site / "outer.pth").write_text(f"{ours}\n")
    environment = {
        **os.environ,
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "PYTHONPATH": "",
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
    }
    install = ["install", "-q", "--no-deps", "--ignore-installed", str(wheel)]
    pip = [sys.executable, "-m", "pip", "--python", python, *install]
    subprocess.run(pip, check=True, env=environment, cwd=tmp_path)
    for command in ("labextension", "serverextension"):
        module = (
            "jupyterlab.labextensions"
            if command == "labextension"
            else "jupyter_server.extension.serverextension"
        )
        done = subprocess.run(
            [python, "-m", module, "list"], capture_output=True, text=True, env=environment, cwd=tmp_path
        )
        said = done.stdout + done.stderr
        assert "dtrain" in said, said
        assert jupyter_accepts(said), said


def jupyter_accepts(said: str) -> bool:
    """Whether a list of extensions has ours as valid.

    JupyterLab has OK in the line of an extension or, where its versions don't fit, X; Jupyter Server
    has a line "enabled" first, and what it found when it validated the extension in one of the next.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    lines = [line for line in plain.splitlines() if re.search("dtrain[-_]lab", line)]
    words = {word for line in lines for word in line.split()}
    return "OK" in words and "X" not in words


@pytest.mark.parametrize(
    ("said", "accepted"),
    [
        ("dtrain-lab v0.1.0 \x1b[32menabled\x1b[0m \x1b[32mOK\x1b[0m (python, dtrain-lab)", True),
        ("dtrain-lab v0.1.0 enabled X", False),
        ("    dtrain_lab enabled\n    - Validating dtrain_lab...\n      dtrain_lab 0.1.0 OK", True),
        ("    dtrain_lab enabled\n    - Validating dtrain_lab...\n     X is dtrain_lab importable?", False),
    ],
)
def test_what_jupyter_refuses_is_not_taken_for_ok(said: str, accepted: bool) -> None:
    assert jupyter_accepts(said) is accepted


def test_the_declared_jupyterlab_is_what_the_extension_itself_accepts() -> None:
    """JupyterLab refuses an extension whose ranges lie above its own; pip must not install such a pair."""
    wanted = json.loads((ROOT / "package.json").read_text())["dependencies"]
    major, minor, _ = wanted["@jupyterlab/application"].removeprefix("^").split(".")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in ("lab", "notebooks"):
        assert f"jupyterlab>={major}.{minor},<{int(major) + 1}" in extras[extra]
    assert f"| JupyterLab {major}.{minor} and newer" in (ROOT / "README.md").read_text()


def test_versions_agree() -> None:
    from dtrain_lab import __version__

    for name in ("package.json", "package-lock.json"):
        assert json.loads((ROOT / name).read_text())["version"] == __version__


def test_lock_file_names_no_registry() -> None:
    assert '"resolved"' not in (ROOT / "package-lock.json").read_text()
