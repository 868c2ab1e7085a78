"""Commands of processes that a debugger of this process leaves alone.

The debugger of a notebook's kernel, debugpy, adds itself to each Python that the kernel starts. Nobody
attaches to it there, and such a process waits for that until it is ended.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Mapping, Sequence

SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')
"""debugpy looks at the program's name only; the shell's process becomes that of the program."""


def command(words: Sequence[str], env: Mapping[str, str] | None = None) -> list[str]:
    """Return a command that runs the same program, without this process's debugger in it.

    Args:
        words: Program and arguments.
        env: Variables of the new process; by default those of this process.

    Raises:
        FileNotFoundError: There is no such program.
    """
    if "pydevd" not in sys.modules:
        return list(words)
    if shutil.which(words[0], path=(os.environ if env is None else env).get("PATH")) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), words[0])
    return [*SHELL, *words]
