"""The environment that ranks will run in: which interpreter, which variables, and is it fit."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from importlib import util
from pathlib import Path

from dtrain_lab.core import command
from dtrain_lab.core.profile import Environment
from dtrain_lab.errors import BadProfile, EnvironmentUnfit
from dtrain_lab.machine import RUNTIME_VARIABLE

NEEDED = ("dtrain_lab", "torch", "ipyparallel", "ipykernel")
SECRET = (
    "JUPYTERHUB_API_TOKEN",
    "JPY_API_TOKEN",
    "JUPYTER_TOKEN",
    "CONFIGPROXY_AUTH_TOKEN",
    "JUPYTERHUB_OAUTH",
)
PASSING = frozenset(
    {
        *("PWD", "OLDPWD", "_", "SHLVL", "TERM", "COLUMNS", "LINES", "COLORTERM", "PAGER", "GIT_PAGER"),
        *("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "MPLBACKEND", "PYTEST_CURRENT_TEST"),
        *("PYDEVD_USE_FRAME_EVAL", "PYDEVD_DISABLE_FILE_VALIDATION", RUNTIME_VARIABLE),
    }
)
"""Variables that differ between a server, its kernels and a terminal, and that training does not read."""
PASSING_PREFIXES = ("JPY_", "JUPYTER_", "KERNEL_", "JUPYTERHUB_", "VSCODE_", "SSH_", "LC_", "XDG_")
CHECK = "import importlib.util as u,json;print(json.dumps([n for n in %r if u.find_spec(n) is None]))"
CHECK_WITHIN_S = 30.0


def variables(profile: Environment) -> dict[str, str]:
    """Variables of head, agents and ranks here: this process's, without its secrets, then the profile's.

    Raises:
        BadProfile: the file of a secret can't be read.
    """
    own = {k: v for k, v in os.environ.items() if not k.startswith(SECRET)}
    return {**own, **profile.variables, **_secrets(profile.secrets)}


def _secrets(paths: dict[str, str]) -> dict[str, str]:
    read = {}
    for name, path in paths.items():
        try:
            read[name] = Path(path).expanduser().read_text().rstrip("\n")
        except (OSError, ValueError) as error:
            raise BadProfile(
                f"{command.no_secret(name, path, 'this machine')}: "
                f"{error.strerror if isinstance(error, OSError) else 'it is no text'}.",
                "Write the value into that file, for your eyes only (chmod 600), or name another.",
                code="no_secret",
            ) from error
    return read


def key(python: str, profile: Environment) -> str:
    """Tells environments apart: a warm head can be claimed only by a start with the same key."""
    known = variables(profile).items()
    lasting = {k: v for k, v in known if k not in PASSING and not k.startswith(PASSING_PREFIXES)}
    text = json.dumps([os.path.realpath(python), os.path.dirname(python), sorted(lasting.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


async def check(python: str) -> None:
    """Can ranks run in this interpreter?

    Raises:
        EnvironmentUnfit: it can't be run, or lacks a package; the hint is the one command that mends it.
    """
    if os.path.realpath(python) == os.path.realpath(sys.executable) and python == sys.executable:
        missing = [name for name in NEEDED if util.find_spec(name) is None]
    else:
        missing = await _ask(python)
    if not missing:
        return
    package = "dtrain-lab" if missing[0] in ("dtrain_lab", "ipyparallel", "ipykernel") else missing[0]
    what = "dtrain_lab" if "dtrain_lab" in missing else missing[0]
    raise EnvironmentUnfit(
        f"The environment of {python} has no {what}.",
        f"Install it there: {python} -m pip install {'dtrain-lab' if what == 'dtrain_lab' else package}",
        code="package_missing",
        details={"python": python, "missing": missing},
    )


async def missing_modules(python: str, names: tuple[str, ...]) -> list[str]:
    """Those of some modules that an interpreter can't find.

    Raises:
        EnvironmentUnfit: it can't be run.
    """
    return await _ask(python, names)


async def _ask(python: str, names: tuple[str, ...] = NEEDED) -> list[str]:
    try:
        process = await asyncio.create_subprocess_exec(
            python,
            "-P",
            "-c",
            CHECK % (names,),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise EnvironmentUnfit(
            f"{python} can't be run: {error.strerror}.", "Choose a kernel whose Python exists."
        ) from error
    try:
        async with asyncio.timeout(CHECK_WITHIN_S):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise EnvironmentUnfit(
            f"{python} did not answer in {CHECK_WITHIN_S:.0f} s.", "Is its disk reachable?"
        ) from None
    if process.returncode:
        last = err.decode("utf-8", "replace").strip().splitlines()
        raise EnvironmentUnfit(
            f"{python} can't be used: {last[-1] if last else 'it ended with an error'}.",
            "dtrain-lab needs Python 3.11 or newer.",
        )
    missing: list[str] = json.loads(out)
    return missing


def kernel_python(name: str | None) -> str:
    """Interpreter of a kernelspec; None and unknown interpreters mean this one.

    Raises:
        EnvironmentUnfit: there is no such kernel.
    """
    if not name:
        return sys.executable
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        spec = KernelSpecManager().get_kernel_spec(name)
    except NoSuchKernel as error:
        raise EnvironmentUnfit(f'There is no kernel "{name}".', "Choose a kernel of this server.") from error
    first = spec.argv[0] if spec.argv else ""
    if os.path.basename(first).startswith("python") and os.path.isabs(first):
        return first
    return sys.executable
