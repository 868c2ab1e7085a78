"""`diagnose`: both checks, on ranks that are idle; of a loop that runs, what the monitor sees of it."""

from __future__ import annotations

import secrets

import msgspec

from dtrain_lab.core.cluster import Cluster
from dtrain_lab.core.diagnosis import MARK, Diagnosis, Report, conclude, from_live
from dtrain_lab.core.wire import doors, links
from dtrain_lab.errors import BadRequest, Conflict
from dtrain_lab.services.reach import Connection

CODE = "print(get_ipython().kernel.dtrain_diagnose())"
WITHIN_S = 600.0


async def diagnose(connection: Connection) -> Diagnosis:
    """Run the checks.

    Args:
        connection: to the cluster's head.

    Raises:
        BadRequest: nothing has trained yet, or the model can't be run again.
        Conflict: a cell runs that trains nothing, or the ranks failed.
    """
    info: Cluster = await connection.ask(doors.Info())
    if info.running:
        if info.metrics.step_s is None:
            raise Conflict("A cell runs, and it does not train.", "Diagnose once it has ended.")
        return from_live(info.metrics)
    found: dict[int, Report] = {}

    def heard(output: links.CellOutput) -> None:
        for line in output.text.splitlines():
            if line.startswith(MARK):
                found[output.rank] = msgspec.json.decode(line.removeprefix(MARK), type=Report)

    order = doors.Run(
        cell=secrets.token_hex(8), code=CODE, label="diagnose", ranks=tuple(range(info.world.size)),
        timeout_s=WITHIN_S,
    )  # fmt: skip
    result = await connection.run(order, heard)
    failed = next((r.error for r in found.values() if r.error), "")
    if failed:
        raise BadRequest(failed, "While a training cell runs, it is diagnosed from its own steps.")
    if result.failures or len(found) < info.world.size:
        raise Conflict(f"The ranks could not be diagnosed: {result.sentence}", "The cell's output says more.")
    return conclude([report for _, report in sorted(found.items())])
