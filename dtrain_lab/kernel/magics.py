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
from dtrain_lab.kernel.options import name_meant
from dtrain_lab.kernel.session import MagicsSession

MEANT_CELL = (
    f"Did you mean {cell_options.CELL}, with two %? It runs the cell on the ranks. With one %, "
    "the code below runs in the notebook's kernel."
)
"""What `%distributed` alone says at the head of a cell with code."""


class CommandInterrupted(KeyboardInterrupt):
    """An interrupted command; notebooks show it without our frames, which don't help a user."""

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
            options = cell_options.parse(self._lines if cell is None else self._cells, line)
        except cell_options.HelpAsked as asks:
            heads = (
                cell is None and not line.strip() and ExecuteRequest(self.shell).heads_code(cell_options.LINE)
            )
            print(MEANT_CELL if heads else asks)
            return
        try:
            if cell is None:
                self._command(options, line.strip())
            else:
                self.session.run(
                    cell,
                    options.ranks,
                    cluster=options.cluster,
                    timeout=options.timeout,
                    wait=not options.no_wait,
                    by_rank=options.by_rank,
                )
        except KeyboardInterrupt as error:
            raise CommandInterrupted from error

    # what `%distributed?` and `%%distributed?` show
    distributed.__doc__ = options.help_text()

    def _command(self, options: argparse.Namespace, line: str) -> None:
        session = self.session
        match options.command:
            case "start":
                with name_meant(options, line):
                    session.start(
                        options.profile,
                        ranks=options.ranks,
                        name=options.name,
                        nodes=options.nodes,
                        ranks_per_node=options.ranks_per_node,
                        monitor=False if options.no_monitor else None,
                    )
            case "stop":
                session.stop()
            case "status":
                command_output.status(session.looked_at())
            case "attach" if options.name is None:
                running = [cluster.snapshot() for cluster in clusters()]
                print(cluster_choice.choice(running, session.notebook, session.uses))
            case "attach":
                cluster = session.attach(options.name)
                print(f"This notebook uses {cluster.name}. {cluster.snapshot().summary.text}")
            case "interrupt":
                command_output.interrupt(session.own("interrupt", line), options.ranks)
            case "restart":
                print(session.own("restart", line).restart(options.ranks or None, options.source))
            case "resize":
                print(session.own("resize", line).resize(options.size))
            case "stacks":
                command_output.stacks(
                    session.looked_at().stacks(options.ranks or None), all_threads=options.all
                )
            case "advise":
                check_advise(options.tried, options.nodes, options.ranks_per_node, options.profile)
                if options.nodes is not None:
                    command_output.forecast(
                        session.looked_at(), options.nodes, options.ranks_per_node, options.profile
                    )
                else:
                    of = session.own("use", line) if options.tried else session.looked_at()
                    command_output.advise(of, session.notebook, options.tried)
            case "diagnose":
                command_output.diagnose(session.looked_at(), session.notebook)
            case "where":
                command_output.where(session.looked_at())
            case "wait":
                session.background.wait()
            case "output":
                session.background.output()
            case "diff":
                print(session.looked_at().diff(options.variable, options.ranks or None))
            case "push":
                variables.push(session.cluster(), options.variables, self.shell.user_ns)
            case "pull":
                variables.pull(session.read_from(), options.variable, options.ranks, self.shell.user_ns)
