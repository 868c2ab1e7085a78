"""States of clusters, ranks, jobs and sweeps in words, for people: the same in the terminal and on the page.

In JSON, and in Python, states are as they are in `wire.kinds`.
"""

from __future__ import annotations

WORDS = {
    "pending": "waiting",
    "rebuilding": "reconnecting",
    "in collective": "in a collective",
    "succeeded": "done",
    "pruned": "stopped early",
}


def word(state: str) -> str:
    """Return the word for a state.

    Args:
        state: The state of a cluster, rank, job, sweep or trial.
    """
    return WORDS.get(state, state)


def job_word(state: str, code: str) -> str:
    """Return the word for a job's state: one that the debugger has paused runs, and is called paused.

    Args:
        state: The state.
        code: Code of its summary.
    """
    return "paused" if state == "running" and code == "paused" else word(state)
