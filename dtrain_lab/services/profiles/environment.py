"""The Python environment of ranks: which interpreter, and whether it has the required packages."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from importlib import util
from pathlib import Path

from dtrain_lab.backends.local import interpreter
from dtrain_lab.backends.local.environment import variables
from dtrain_lab.errors import BadProfile, EnvironmentUnfit
from dtrain_lab.machine.folders import RUNTIME_VARIABLE
from dtrain_lab.placement.activation import python as words_of
from dtrain_lab.placement.frameworks import names
from dtrain_lab.wire.kinds import Framework
from dtrain_lab.wire.profile import Environment

NEEDED = ("dtrain_lab", "torch", "ipyparallel", "ipykernel")
LIGHT = ("cloudpickle", "msgspec", "psutil", "pynvml", "zmq")
"""Dependencies of dtrain-lab that ranks of other frameworks need: neither torch nor Jupyter packages."""
PACKAGES = {"zmq": "pyzmq", "pynvml": "nvidia-ml-py"}
"""Modules whose package has another name."""
PASSING = frozenset(
    {
        *("PWD", "OLDPWD", "_", "SHLVL", "TERM", "COLUMNS", "LINES", "COLORTERM", "PAGER", "GIT_PAGER"),
        *("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "MPLBACKEND", "PYTEST_CURRENT_TEST"),
        *("PYDEVD_USE_FRAME_EVAL", "PYDEVD_DISABLE_FILE_VALIDATION", RUNTIME_VARIABLE),
    }
)
"""Variables excluded from the key: they differ by kind of process, and don't affect training."""
PASSING_PREFIXES = ("JPY_", "JUPYTER_", "KERNEL_", "JUPYTERHUB_", "VSCODE_", "SSH_", "LC_", "XDG_")
CHECK = "import importlib.util as u,json;print(json.dumps([n for n in %r if u.find_spec(n) is None]))"
CHECK_WITHIN_S = 30.0


def key(python: str, profile: Environment) -> str:
    """Return a hash of an environment; a start can claim a warm head only if their keys are equal.

    Args:
        python: Path of the interpreter.
        profile: The profile's environment section.
    """
    all_variables = variables(profile).items()
    lasting = {k: v for k, v in all_variables if k not in PASSING and not k.startswith(PASSING_PREFIXES)}
    folder = os.path.dirname(python)
    text = json.dumps([os.path.realpath(python), folder, _installed(folder), sorted(lasting.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _installed(folder: str) -> list[int]:
    """Return when packages were last installed or removed (ns), to detect that a loaded torch is outdated."""
    places = Path(folder).parent.glob("lib/python3*/site-packages")
    return sorted(place.stat().st_mtime_ns for place in places)


def of_machine(profile: Environment, python: str) -> str:
    """Return the interpreter of ranks on this machine.

    Args:
        profile: The profile's environment.
        python: The kernel's or terminal's interpreter, for the kind "current".

    Raises:
        BadProfile: An environment of this kind can't be entered without a job script.
    """
    if profile.kind == "current":
        return python
    if profile.kind not in ("venv", "conda"):
        raise BadProfile(
            f'[environment] kind = "{profile.kind}" is for other machines: ranks on this one run in a venv, '
            "in a conda environment, or in the notebook's own.",
            'Set [environment] kind to "venv", "conda" or "current"; or start JupyterLab in it.',
            code="environment_kind",
        )
    return os.path.expanduser(words_of(profile, python)[0])


def needed(framework: Framework) -> tuple[str, ...]:
    """Return the modules that ranks of a framework need."""
    return NEEDED if framework == "torch" else ("dtrain_lab", framework, *LIGHT)


async def check(
    python: str, named: Framework | None = None, *, jobs: bool = False, asked: Environment | None = None
) -> None:
    """Check that ranks can run in this interpreter.

    Args:
        python: Its path.
        named: The framework; None if neither request nor profile names one, which means PyTorch.
        jobs: Whether jobs are to run there, which may use a framework other than PyTorch.
        asked: The profile's environment, from which the interpreter may be.

    Raises:
        EnvironmentUnfit: The interpreter can't be run, or lacks a package; the hint is the command that
            installs it.
    """
    framework = named or "torch"
    others = names.OTHERS if jobs and named is None else ()
    wanted = (*needed(framework), *others)
    if os.path.realpath(python) == os.path.realpath(sys.executable) and python == sys.executable:
        lacking = [name for name in wanted if util.find_spec(name) is None]
    else:
        lacking = await _ask(python, wanted, asked)
    missing = [name for name in lacking if name not in others]
    if not missing:
        return
    module = "dtrain_lab" if "dtrain_lab" in missing else missing[0]
    package = "dtrain-lab" if module in ("dtrain_lab", "ipyparallel", "ipykernel") else module
    if framework != "torch":
        light = " ".join(PACKAGES.get(name, name) for name in LIGHT)
        alone = f"--no-deps dtrain-lab && {python} -m pip install {light}"
        package = alone if module == "dtrain_lab" else PACKAGES.get(module, module)
    there = [name for name in others if name not in lacking] if module == "torch" else []
    hint = names.or_named(there, f"{python} -m pip install {package}")
    raise EnvironmentUnfit(
        f"The environment of {python} has no {module}.",
        hint,
        code="package_missing",
        details={"python": python, "missing": missing},
    )


async def missing_modules(python: str, names: tuple[str, ...]) -> list[str]:
    """Return those modules that an interpreter can't find.

    Args:
        python: Path of the interpreter.
        names: Names of the modules.

    Raises:
        EnvironmentUnfit: The interpreter can't be run.
    """
    return await _ask(python, names)


async def _ask(python: str, names: tuple[str, ...], asked: Environment | None = None) -> list[str]:
    of_profile = asked is not None and asked.kind != "current"
    hint = "Choose a kernel whose Python exists, and is 3.11 or newer."
    if of_profile:
        hint = "Set [environment] path in the profile to an environment with Python 3.11 or newer."
    return await interpreter.ask(
        [python],
        ("-c", CHECK % (names,)),
        list[str],
        within_s=CHECK_WITHIN_S,
        hint=hint,
    )


def kernel_python(name: str | None) -> str:
    """Return the interpreter of a kernelspec; for None and non-Python kernels, the current interpreter.

    Raises:
        EnvironmentUnfit: There is no such kernel.
    """
    if not name:
        return sys.executable
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    manager = KernelSpecManager()
    try:
        spec = manager.get_kernel_spec(name)
    except NoSuchKernel as error:
        kernels = ", ".join(sorted(manager.find_kernel_specs())) or "none"
        raise EnvironmentUnfit(
            f'There is no kernel "{name}".', f"Kernels on this machine: {kernels}."
        ) from error
    first = spec.argv[0] if spec.argv else ""
    if os.path.basename(first).startswith("python") and os.path.isabs(first):
        return first
    return sys.executable
