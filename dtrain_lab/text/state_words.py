"""States of clusters, ranks, jobs and sweeps in words, for people: the same in the terminal and on the page.

In JSON, and in Python, states are as they are in `wire.kinds`.
"""

from __future__ import annotations

from dtrain_lab.wire.kinds import SWEEP_PARTLY_SUCCEEDED

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


JOB_WORDS = {
    ("running", "paused"): "paused",
    ("cancelled", "job_pruned"): "stopped early",
    ("cancelled", "job_stopped"): "stopped",
}
"""State and code of the summary → the word, where the code says more: a sweep stops trials."""


def sweep_word(state: str, code: str) -> str:
    """Return the word for a sweep's state: one of whose trials some failed is finished, not done.

    Args:
        state: The state.
        code: Code of its summary.
    """
    return "finished" if code == SWEEP_PARTLY_SUCCEEDED else word(state)


def job_word(state: str, code: str) -> str:
    """Return the word for a job's state: one that the debugger has paused runs, and is called paused.

    Args:
        state: The state.
        code: Code of its summary.
    """
    return JOB_WORDS.get((state, code)) or word(state)
