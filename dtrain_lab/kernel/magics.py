"""The magics `%%distributed` and `%distributed`: parse the line, then delegate to the session."""

from __future__ import annotations

import argparse
from typing import Any

from IPython.core.magic import Magics, line_cell_magic, magics_class

from dtrain_lab.api.measurements import check_advise
from dtrain_lab.api.start import clusters
from dtrain_lab.cells import cell_options
from dtrain_lab.kernel import cluster_choice, command_output, options, variables
from dtrain_lab.kernel.execute_request import ExecuteRequest
from dtrain_lab.kernel.session import MagicsSession

MEANT_CELL = (
    f"Did you mean {cell_options.CELL}, with two %? It runs the cell on the ranks. With one %, "
    "the code below runs in the notebook's kernel."
)
"""What `%distributed` alone says at the head of a cell with code."""


class CommandInterrupted(KeyboardInterrupt):
    """An interrupted command; a notebook shows none of our frames, which say nothing to a user."""

    def _render_traceback_(self) -> list[str]:
        return ["KeyboardInterrupt: the command was interrupted."]


@magics_class
class DistributedMagics(Magics):  # type: ignore[misc]
    """`%%distributed` runs a cell on ranks; `%distributed` starts, stops and looks at them."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.session = MagicsSession(shell)
        self._cells = cell_options.cell_parser()
        self._lines = options.line_parser()

    @line_cell_magic  # type: ignore[untyped-decorator]
    def distributed(self, line: str, cell: str | None = None) -> None:
        """Run the cell on ranks, or a command: %distributed alone lists them."""
        try:
            asked = cell_options.parse(self._lines if cell is None else self._cells, line)
        except cell_options.HelpAsked as asks:
            heads = (
                cell is None and not line.strip() and ExecuteRequest(self.shell).heads_code(cell_options.LINE)
            )
            print(MEANT_CELL if heads else asks)
            return
        try:
            if cell is None:
                self._command(asked, line.strip())
            else:
                self.session.run(
                    cell,
                    asked.ranks,
                    cluster=asked.cluster,
                    timeout=asked.timeout,
                    wait=not asked.no_wait,
                    by_rank=asked.by_rank,
                )
        except KeyboardInterrupt as error:
            raise CommandInterrupted from error

    # what `%distributed?` and `%%distributed?` show
    distributed.__doc__ = options.help_text()

    def _command(self, asked: argparse.Namespace, line: str) -> None:
        session = self.session
        match asked.command:
            case "start":
                session.start(
                    asked.profile,
                    ranks=asked.ranks,
                    name=asked.name,
                    nodes=asked.nodes,
                    ranks_per_node=asked.ranks_per_node,
                    monitor=False if asked.no_monitor else None,
                )
            case "stop":
                session.stop()
            case "status":
                command_output.status(session.looked_at())
            case "attach" if asked.name is None:
                print(cluster_choice.choice([cluster.snapshot() for cluster in clusters()], session.notebook))
            case "attach":
                cluster = session.attach(asked.name)
                print(f"This notebook uses {cluster.name}. {cluster.snapshot().summary.text}")
            case "interrupt":
                command_output.interrupt(session.own("interrupt", line), asked.ranks)
            case "restart":
                print(session.own("restart", line).restart(asked.ranks or None, asked.source))
            case "resize":
                print(session.own("resize", line).resize(asked.size))
            case "stacks":
                command_output.stacks(session.looked_at().stacks(asked.ranks or None), all_threads=asked.all)
            case "advise":
                check_advise(asked.tried, asked.nodes, asked.ranks_per_node, asked.profile)
                if asked.nodes is not None:
                    command_output.forecast(
                        session.looked_at(), asked.nodes, asked.ranks_per_node, asked.profile
                    )
                else:
                    of = session.own("use", line) if asked.tried else session.looked_at()
                    command_output.advise(of, session.notebook, asked.tried)
            case "diagnose":
                command_output.diagnose(session.looked_at(), session.notebook)
            case "where":
                command_output.where(session.looked_at())
            case "wait":
                session.background.wait()
            case "output":
                session.background.output()
            case "diff":
                print(session.looked_at().diff(asked.variable, asked.ranks or None))
            case "push":
                variables.push(session.cluster(), asked.variables, self.shell.user_ns)
            case "pull":
                variables.pull(session.read_from(), asked.variable, asked.ranks, self.shell.user_ns)
