"""Requests that more than one client makes, with the types of their answers."""

from __future__ import annotations

import secrets

from dtrain_lab.cells import rank_sets
from dtrain_lab.services.connection.connection import Connection
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.metrics.diagnosis import Diagnosis, Tried


async def diagnose(connection: Connection) -> Diagnosis:
    """Measure what takes a training step's time.

    Raises:
        BadRequest: No training has run yet, or the model can't be run again.
        Conflict: A cell that does not train is running, or the ranks failed.
        Unreachable: The head ended.
    """
    diagnosis: Diagnosis = await connection.ask(clients.Diagnose(secrets.token_hex(8)), within_s=None)
    return diagnosis


async def try_advice(connection: Connection, advice: str) -> Tried:
    """Measure what advice gains, in steps that are run with the change and taken back.

    Args:
        connection: Leads to the cluster.
        advice: Id of the advice.

    Raises:
        NotFound: There is no such advice now.
        BadRequest: The change can't be tried on this model.
        Conflict: A cell is running, or the ranks failed.
        Unreachable: The head ended.
    """
    trial: Tried = await connection.ask(clients.TryAdvice(secrets.token_hex(8), advice), within_s=None)
    return trial


async def rank_set(connection: Connection, ranks: rank_sets.Asked) -> tuple[int, ...] | None:
    """Parse a set of the cluster's ranks.

    Args:
        connection: Connection to the cluster's head, which tells the number of ranks.
        ranks: The set, as the user gave it; None for all.

    Returns:
        The ranks in ascending order; None for all.

    Raises:
        BadRankSet: The set can't be parsed, or names ranks that the cluster does not have.
    """
    if ranks is None:
        return None
    cluster: Cluster = await connection.ask(clients.Info())
    return rank_sets.asked(ranks, cluster.world.size)
