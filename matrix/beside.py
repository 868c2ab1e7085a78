"""JupyterLab with the extensions of others, in an environment of its own: `python -m matrix beside`.

They are installed there with JupyterLab, and the product as the wheel of this tree. Torch and what tests need
are lent by the environment that runs this.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from matrix import tree

ROOT = Path(__file__).parents[1]
NAME = "beside"
EXTENSIONS = (
    "jupyter-collaboration==5.0.4",
    "jupyter-resource-usage==1.3.0",
    "jupyter-scheduler==2.12.1",
    "jupyterlab-execute-time==3.3.0",
    "jupyterlab-git==0.55.0",
    "jupyterlab-lsp==5.3.0",
    "nbdime==4.0.4",
    "notebook==7.6.5",
    "python-lsp-server==1.15.0",
)
TESTS = {
    "two people": ("tests/beside/test_collaboration.py",),
    "all of them": ("tests/beside/test_bundle.py",),
    "Notebook 7": ("tests/beside/test_notebook.py",),
}
LENT = "lent.pth"


def build() -> Path:
    """Install the extensions, once, and this tree, each time; returns the environment's Python."""
    folder = ROOT / ".venv" / "matrix" / NAME
    own = folder / "bin" / "python"
    pip = [str(own), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    ready = folder / "ready"
    if not ready.exists() or ready.read_text().split() != list(EXTENSIONS):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        constraints = str(ROOT / "constraints.txt")
        base = ("jupyterlab", "ipykernel", "ipywidgets")
        subprocess.run([*pip, "-c", constraints, *base, *EXTENSIONS], check=True)
        packages = next((folder / "lib").glob("python*/site-packages"))
        (packages / LENT).write_text(f"{sysconfig.get_path('purelib')}\n")
        ready.write_text("\n".join(EXTENSIONS))
    wheels = folder / "wheels"
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check"]
    quiet = {**os.environ, "SKIP_JUPYTER_BUILDER": "1"}  # `make setup` has built the front end
    for old in wheels.glob("*.whl"):
        old.unlink()
    subprocess.run([*build, "--outdir", str(wheels)], cwd=ROOT, check=True, env=quiet, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([*pip, "--no-deps", "--force-reinstall", str(wheel)], check=True)
    return own


def section(ran: dict[str, object] | None, parts: dict[str, str]) -> list[str]:
    """Lines of the table's page.

    Args:
        ran: the last run, with its date; None where there was none.
        parts: by name of a part, how it went.
    """
    lines = [
        "",
        "## Beside other extensions",
        "",
        f"All of these installed together: {', '.join(name.replace('==', ' ') for name in EXTENSIONS)}.",
        "Numbers are tests that passed, each in a real browser. With two people and with all of them: cells,",
        "output, the panel, the debugger, Submit. In Notebook 7: cells, output, the panel.",
        "",
        f"| {' | '.join(TESTS)} | run on | commit |",
        "|---" * (len(TESTS) + 2) + "|",
    ]
    cells = [*(parts.get(name, "–") for name in TESTS), ran["date"] if ran else "not run"]
    return [*lines, f"| {' | '.join(map(str, [*cells, tree.told(ran or {}, TESTS)]))} |"]
