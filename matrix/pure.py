"""Runs tests without torch on another Python in about a minute: `python -m matrix.pure 3.13`, in `make test`.

Its environment lends the packages of this one, and has compiled packages of its own. It has no torch, which
would be 5 GB to load: without its CUDA packages `import torch` ends with "libcudnn.so.9: cannot open shared
object file". So its ranks are those of jobs of other frameworks; the rest is left to `make matrix`.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from matrix.__main__ import ROOT, python
from matrix.run import run

COMPILED = (
    "cffi", "debugpy", "hypothesis", "markupsafe", "msgspec", "numpy", "psutil", "pyyaml", "pyzmq", "rpds-py",
)  # fmt: skip
"""Packages that hold compiled code for one Python only, or other code for each."""
TESTS = (
    "tests/unit/project/test_generated.py",
    "tests/unit/cells/test_cells.py",
    "tests/unit/debugger/test_dap.py",
    "tests/unit/services/test_store.py",
    "tests/integration/frameworks/test_stub_frameworks.py",
)
"""Where another Python has made a difference before, and jobs with real ranks."""
LIMIT_S = 600
"""For tests that hang: they take about a minute."""


def build(base: str, version: str) -> Path:
    """Make the environment, once; returns its Python.

    Args:
        base: the Python that it is made with.
        version: of that, such as "3.13".
    """
    folder = ROOT / ".venv" / "matrix" / f"{version}-pure"
    own = folder / "bin" / "python"
    if (folder / "ready").exists():
        return own
    subprocess.run([base, "-m", "venv", "--clear", str(folder)], check=True)
    packages = folder / "lib" / f"python{version}" / "site-packages"
    (packages / "lent.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n")
    pinned = [f"{name}=={importlib.metadata.version(name)}" for name in COMPILED]
    pip = [str(own), "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-deps"]
    subprocess.run([*pip, "--ignore-installed", *pinned], check=True)
    (folder / "ready").touch()
    return own


def main() -> int:
    """Run the tests; where this machine lacks the Python, say so."""
    version = sys.argv[1]
    base = python(version)
    if base is None:
        print(f"SKIPPED: tests on Python {version}: this machine has none", flush=True)
        return 0
    print(f"Python {version}:", flush=True)
    words = [str(build(base, version)), "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    return 1 if run(words, ROOT, dict(os.environ), LIMIT_S).failed else 0


if __name__ == "__main__":
    sys.exit(main())
