import sys
from collections.abc import Callable

import msgspec


def check(arguments: list[str]) -> int:
    """`check [FOLDER]`: print what this node has."""
    from dtrain_lab.machine import facts

    report = facts.check(arguments[1] if len(arguments) > 1 else None)
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    return 0


def interfaces(arguments: list[str]) -> int:
    """`interfaces NODE`: print the network interfaces of this node, whose index is NODE (`task_number`)."""
    from dtrain_lab.machine import facts
    from dtrain_lab.node import task_number
    from dtrain_lab.wire.node_check import NodeInterfaces

    report = NodeInterfaces(task_number.of(arguments[1]), facts.interfaces())
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    return 0


def slots(arguments: list[str]) -> int:
    """`slots [PROCESS]`: print the slots and their holders, after ending PROCESS if given."""
    from dtrain_lab.errors import DtrainError
    from dtrain_lab.machine import slot_tickets
    from dtrain_lab.placement.slots.slots import REFUSED

    try:
        answer = slot_tickets.all_slots() if len(arguments) < 2 else slot_tickets.stop(arguments[1])
    except DtrainError as error:
        problem = {**error.as_dict(), "kind": type(error).default_code}
        sys.stdout.buffer.write(msgspec.json.encode(problem) + b"\n")
        return REFUSED
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    return 0


NAMES = ("admit", "bridge", "check", "interfaces", "join", "ranks", "slots", "speed", "stage")
RENAMED = {"attached": "ranks", "turn": "admit"}


def of_today(arguments: list[str]) -> list[str]:
    """Return a command line in today's form; a job may wait with a script of an earlier version."""
    match [RENAMED.get(arguments[0], arguments[0]), *arguments[1:]]:
        case ["join", file]:  # only Slurm's scripts named no node
            return ["join", file, "SLURM_NODEID"]
        case ["stage", folder, place]:
            return ["stage", folder, place, "SLURM_NODEID", "2"]
        case others:
            return others


def command(name: str) -> Callable[[list[str]], int]:
    """Import only a subcommand's module, since one runs beside every rank of a job; return its main.

    Raises:
        SystemExit: There is no such subcommand.
    """
    match name:
        case "ranks":
            from dtrain_lab.node.ranks import main
        case "admit":
            from dtrain_lab.node.admission.slot_queue import main
        case "stage":
            from dtrain_lab.node.stage import main
        case "speed":
            from dtrain_lab.node.network_speed import main
        case "bridge":
            from dtrain_lab.node.bridge import main
        case "check":
            main = check
        case "interfaces":
            main = interfaces
        case "slots":
            main = slots
        case "join":
            from dtrain_lab.node.join import main
        case _:
            print(
                f"python -m dtrain_lab.node: {name} is unknown; use one of {', '.join(NAMES)}",
                file=sys.stderr,
            )
            sys.exit(2)
    return main


if __name__ == "__main__":
    if len(sys.argv) > 1:
        given = of_today(sys.argv[1:])
        sys.exit(command(given[0])(given))
    from dtrain_lab.node.sources.fork import main as own

    own()
