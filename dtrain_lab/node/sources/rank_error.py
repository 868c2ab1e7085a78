"""How a job's rank ended, in the job's folder: for ranks that could not write that themselves."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.node.sources.spawned_rank import SpawnedRank
from dtrain_lab.wire.jobs import rank_ends

if TYPE_CHECKING:
    from dtrain_lab.machine.cgroup import OutOfMemory


def write_error(folder: Path, child: SpawnedRank, code: int, never: str | None, memory: OutOfMemory) -> None:
    """Write the error of a rank that could not write it itself.

    Args:
        folder: The job's folder.
        child: The rank.
        code: Its exit code; negative for a signal.
        never: Why ranks can't start on this node, if so.
        memory: Tells whether the kernel killed the rank for its memory.
    """
    kind: rank_ends.RankEnd
    if never is not None:
        kind, message = rank_ends.ENDED, f"could not start: {never}"
    elif child.why:
        kind, message = rank_ends.ENDED, child.why
    elif child.stopped:
        kind, message = rank_ends.STOPPED, "was ended with the others"
    elif code < 0:
        name = (
            signal.Signals(-code).name
            if -code in signal.valid_signals() and -code in set(map(int, signal.Signals))
            else f"signal {-code}"
        )
        how = memory.how(code)
        kind, message = rank_ends.KILLED, f"was {how}" if how else f"was killed by {name}"
    else:
        kind, message = rank_ends.ENDED, f"ended with code {code}"
    record = {
        "rank": child.rank,
        "cell": None,
        "cell_id": None,
        "line": None,
        "type": kind,
        "message": message,
        "time": time.time(),
        "node": socket.gethostname().split(".")[0],
        "signal": -code if code < 0 else None,
    }
    try:
        (folder / job_files.error(child.rank)).write_text(json.dumps(record))
    except OSError as error:
        complain(f"rank {child.rank} {message}; {error.strerror}")


def complain(text: str) -> None:
    """Write to the launcher's log; if the same full disk holds the log, the message is lost."""
    with contextlib.suppress(OSError):
        # bypass Python's buffer: bytes that it could not write would change the exit code
        os.write(2, f"dtrain-lab: {text}\n".encode())
