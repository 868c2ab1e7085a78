"""Processes whose clock is off: by a library that is loaded before the C library."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

# a container may not set the clock, and libfaketime's sleep fails in ipyparallel's controller
SHIM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return failed;
    char text[32] = {0};
    int file = open(getenv("CLOCK_SET_BY"), O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, text, sizeof text - 1) > 0)
        now->tv_sec += atol(text);
    if (file >= 0)
        close(file);
    return 0;
}
"""


def clock_library(folder: Path) -> Path:
    """Build the library; skips the test where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("NO C COMPILER: what happens where clocks are off was not tested")
    (folder / "clock.c").write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "clock.so", folder / "clock.c"], check=True)
    return folder / "clock.so"


def set_by(library: Path, file: Path) -> dict[str, str]:
    """Variables of processes whose clock is off by the seconds that a file says."""
    return {"LD_PRELOAD": str(library), "CLOCK_SET_BY": str(file)}
