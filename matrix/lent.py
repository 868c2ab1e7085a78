"""Environments with a JupyterLab, and what stands beside it, of their own.

Torch and what tests need are lent by the environment that runs this.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Collection, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
LENT = "lent.pth"
BASE = ("ipykernel", "ipywidgets")
"""Beside JupyterLab: what kernels need."""


def build(name: str, wanted: Sequence[str], free: Collection[str] = ()) -> Path:
    """Install what is wanted, once, and the product as the wheel of this tree, each time.

    Args:
        name: of the environment.
        wanted: requirements, JupyterLab's among them.
        free: packages whose version `constraints.txt` does not decide here.

    Returns:
        The environment's Python.
    """
    folder = ROOT / ".venv" / "matrix" / name
    own = folder / "bin" / "python"
    pip = [str(own), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    ready = folder / "ready"
    if not ready.exists() or ready.read_text().split() != list(wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        lines = (ROOT / "constraints.txt").read_text().splitlines()
        constraints = folder / "constraints.txt"
        constraints.write_text("\n".join(line for line in lines if line.partition("=")[0] not in free))
        subprocess.run([*pip, "-c", str(constraints), *BASE, *wanted], check=True)
        packages = next((folder / "lib").glob("python*/site-packages"))
        (packages / LENT).write_text(f"{sysconfig.get_path('purelib')}\n")
        ready.write_text("\n".join(wanted))
    wheels = folder / "wheels"
    wheel_of = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check"]
    quiet = {**os.environ, "SKIP_JUPYTER_BUILDER": "1"}  # `make setup` has built the front end
    for old in wheels.glob("*.whl"):
        old.unlink()
    subprocess.run([*wheel_of, "--outdir", str(wheels)], cwd=ROOT, check=True, env=quiet, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([*pip, "--no-deps", "--force-reinstall", str(wheel)], check=True)
    return own
