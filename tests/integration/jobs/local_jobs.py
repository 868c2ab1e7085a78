"""What tests of jobs on this machine share."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import psutil


def terminal(*words: str, code: int = 0) -> Any:
    done = subprocess.run(["dtrain-lab", *words, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr


def of_job(job: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or [])
        if job in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found
