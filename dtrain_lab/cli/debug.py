"""`dtrain-lab debug`: a text debugger of all ranks, for a login node; `--stdio` serves editors."""

from __future__ import annotations

import cmd

import click

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.debug import Debugger
from dtrain_lab.api.job import job
from dtrain_lab.api.start import clusters, connect
from dtrain_lab.cells import rank_sets
from dtrain_lab.cli.adapter import stdio as adapter
from dtrain_lab.cli.base.show import console, print_json, reports_errors
from dtrain_lab.debugger.sources import CELL
from dtrain_lab.debugger.state import RankView
from dtrain_lab.errors import BadRequest, DtrainError, NotFound
from dtrain_lab.text import rank_names

STEP_WITHIN_S = 3.0
"""Timeout of a step, which may wait for other ranks in a collective; then the ranks' states are shown."""
PAUSE_WITHIN_S = 10.0


@click.command()
@click.argument("name", required=False)
@click.option("--job", "job_name", metavar="ID", help="Debug this job; NAME is left out then.")
@click.option("--rank", type=int, help="Select this rank at the start.")
@click.option("--no-pause", is_flag=True, help="Let the ranks run until a breakpoint.")
@click.option(
    "--stdio", is_flag=True, help="Serve an editor: the debug adapter protocol on stdin and stdout."
)
@click.option("--vscode", is_flag=True, help="Print the entry for .vscode/launch.json.")
@reports_errors
def debug(
    name: str | None, job_name: str | None, rank: int | None, no_pause: bool, stdio: bool, vscode: bool
) -> None:
    """Debug the ranks of a cluster or a job; they run on afterwards.

    With --stdio and without NAME: the target in the editor's configuration, or the only one that is running.
    """
    if name and job_name:
        raise BadRequest("NAME and --job exclude each other.", "Leave one out.")
    if vscode:
        print_json(adapter.vscode_entry(name, job_name))
        return
    if stdio:
        adapter.serve(name, job_name)
        return
    if not (name or job_name):
        raise BadRequest("No name was given.", "Name a cluster or a job: dtrain-lab debug NAME")
    debugger = job(job_name).debug() if job_name else _target(str(name))
    try:
        if not no_pause:
            debugger.pause()
        if rank is not None:
            debugger.look_at(rank)
        prompt = Prompt(debugger)
        prompt.onecmd("ranks")
        while True:
            try:
                prompt.cmdloop()
                break
            except KeyboardInterrupt:
                console.print("Press Ctrl-D to resume the ranks and leave.")
    finally:
        debugger.detach()


def _target(name: str) -> Debugger:
    target: Cluster | None = None
    try:
        target = connect(name)
    except NotFound:
        try:
            debugger: Debugger = job(name).debug()
        except NotFound:
            names = ", ".join(c.name for c in clusters()) or "none"
            raise NotFound(
                f'There is no cluster and no job "{name}".', f"Clusters: {names}. Jobs: dtrain-lab job list"
            ) from None
        return debugger
    return target.debug()


class Prompt(cmd.Cmd):
    """The prompt: one command per line."""

    prompt = "(ranks) "

    def __init__(self, debugger: Debugger) -> None:
        super().__init__()
        self._debugger = debugger
        self._out = console
        self._depth = 0

    def onecmd(self, line: str) -> bool:
        """Run a command; an error is printed as one line, and the prompt returns."""
        try:
            return super().onecmd(line)
        except DtrainError as error:
            self._out.print(str(error), markup=False)
            return False

    def emptyline(self) -> bool:
        """Do nothing on an empty line."""
        return False

    def default(self, line: str) -> None:
        """Report an unknown command."""
        if line == "EOF":
            return
        self._out.print(f'Unknown: "{line}". To list the commands: help', markup=False)

    def do_ranks(self, _: str) -> None:
        """Show where each rank is."""
        state = self._debugger.state
        self._out.print(state.sentence, markup=False)
        for place, ranks in _by_place(state.ranks).items():
            mark = ">" if state.focus in ranks else " "
            self._out.print(f"{mark} {rank_names.name(ranks):<14} {place}", markup=False)
        for wait in state.waits:
            self._out.print(f"  {wait.text}", markup=False)

    def do_rank(self, line: str) -> None:
        """rank N: select this rank."""
        self._debugger.look_at(_number(line))
        self._depth = 0
        self.do_stack("")

    def do_step(self, line: str) -> None:
        """step [all|this|RANKS]: choose the ranks that next, into and out move."""
        words = line.split()
        mode = words[0] if words else "all"
        if mode in ("all", "this"):
            self._debugger.steps("all" if mode == "all" else "this")
        else:
            self._debugger.steps("some", rank_sets.parse(mode, len(self._debugger.state.ranks)))

    def do_next(self, _: str) -> None:
        """Step to the next line; all ranks step over a collective together."""
        self._move(self._debugger.step)

    def do_into(self, _: str) -> None:
        """Step into the call on this line."""
        self._move(self._debugger.step_in)

    def do_out(self, _: str) -> None:
        """Step out to the caller."""
        self._move(self._debugger.step_out)

    def do_go(self, _: str) -> None:
        """Continue, and wait for a breakpoint (Ctrl-C returns to the prompt)."""
        self._debugger.go()
        self._out.print("Running. Ctrl-C for the prompt.")
        self._debugger.wait()
        self.do_ranks("")

    def do_pause(self, _: str) -> None:
        """Stop all ranks at their next line."""
        self._debugger.pause()
        self._settle(PAUSE_WITHIN_S)

    def do_break(self, line: str) -> None:
        """break [CELL]:LINE or FILE:LINE [if CONDITION]: set a breakpoint, as in: break [7]:6 if rank == 3"""
        place, _, condition = line.partition(" if ")
        path, _, number = place.strip().rpartition(":")
        if not path:
            self._out.print("Name a line: break [7]:6, or break model.py:42", markup=False)
            return
        self._debugger.set_breakpoint(path, _number(number), condition=condition.strip())
        for point in self._debugger.state.points:
            asks = f" if {point.condition}" if point.condition else ""
            self._out.print(f"  {point.path.removeprefix(CELL)}:{point.line}{asks}", markup=False)

    def do_clear(self, line: str) -> None:
        """clear [PLACE]: remove the breakpoints of a cell or file, or all."""
        self._debugger.clear(line.strip() or None)

    def do_stack(self, _: str) -> None:
        """Show the selected rank's stack."""
        for depth, frame in enumerate(self._debugger.stack()):
            self._out.print(f"{'>' if depth == self._depth else ' '} {depth} {frame}", markup=False)

    def do_frame(self, line: str) -> None:
        """frame N: select this frame, for vars and p."""
        self._depth = _number(line)
        self.do_stack("")

    def do_vars(self, _: str) -> None:
        """Show the local variables of the selected frame."""
        for name, value in self._debugger.variables(depth=self._depth).items():
            self._out.print(f"  {name} = {value}", markup=False)

    def do_p(self, line: str) -> None:
        """p EXPRESSION: show its value on the selected rank."""
        self._out.print(self._debugger.evaluate(line, depth=self._depth), markup=False)

    def do_all(self, line: str) -> None:
        """all EXPRESSION: compare its value on all ranks."""
        row = self._debugger.across(line)
        self._out.print(row.text, markup=False)
        if len(row.groups) > 1:
            for group in row.groups:
                self._out.print(f"  {rank_names.name(group.ranks)}: {group.text}", markup=False)
            if far := [group.max_abs for group in row.groups if group.max_abs is not None]:
                self._out.print(f"  largest difference {max(far):.2g}", markup=False)

    def do_quit(self, _: str) -> bool:
        """Let the ranks continue, and leave."""
        return True

    do_EOF = do_q = do_detach = do_quit
    do_n, do_s, do_c, do_continue, do_b, do_w, do_where, do_bt = (
        do_next,
        do_into,
        do_go,
        do_go,
        do_break,
        do_ranks,
        do_ranks,
        do_stack,
    )

    def _move(self, move: object) -> None:
        assert callable(move)
        move()
        self._depth = 0
        self._settle(STEP_WITHIN_S)

    def _settle(self, within_s: float) -> None:
        everybody = [r.rank for r in self._debugger.state.ranks if r.phase in ("running", "paused")]
        try:
            if everybody:
                self._debugger.wait(within_s, everybody)
        except TimeoutError:  # some wait for other ranks, or take long: the list shows which
            pass
        self.do_ranks("")


def _number(text: str) -> int:
    words = text.split()
    if len(words) != 1 or not words[0].isdecimal():
        raise NotFound(f'"{text.strip()}" is not a number.', "Give one, such as: rank 3")
    return int(words[0])


def _by_place(ranks: tuple[RankView, ...]) -> dict[str, list[int]]:
    ranks_at: dict[str, list[int]] = {}
    for rank in ranks:
        if rank.phase == "paused" and rank.place is not None:
            where = (
                f"{rank.place.file.removeprefix('dtrain-cell:')}:{rank.place.line}, in {rank.place.function}"
            )
        elif rank.phase == "running" and rank.operation is not None:
            where = f"waits in {rank.operation.name}"
        else:
            where = {"gone": "lost", "idle": "idle"}.get(rank.phase, "runs")
        ranks_at.setdefault(where, []).append(rank.rank)
    return ranks_at
