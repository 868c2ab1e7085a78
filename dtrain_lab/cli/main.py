"""`dtrain-lab`: the command groups."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import click

from dtrain_lab._version import __version__
from dtrain_lab.api.portal import Portal
from dtrain_lab.cli import measurements
from dtrain_lab.cli.base.group import PROGRAM, Group
from dtrain_lab.cli.base.show import exit_code
from dtrain_lab.cli.cluster import cluster
from dtrain_lab.cli.debug import debug
from dtrain_lab.cli.doctor import doctor
from dtrain_lab.cli.jobs.job import job_group
from dtrain_lab.cli.jobs.script import script
from dtrain_lab.cli.jobs.submit import submit
from dtrain_lab.cli.jobs.sweep import sweep_group
from dtrain_lab.cli.profile import profile
from dtrain_lab.cli.slots import slots
from dtrain_lab.errors import BadRequest
from dtrain_lab.text import suggestions

LISTED = ("cluster", "job", "profile", "sweep")
"""Groups with a command `list`."""


class Main(Group):
    """Command group that also reports usage errors as JSON with `--json`."""

    def invoke(self, ctx: click.Context) -> Any:
        as_json = "--json" in ctx.args
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if not as_json:
                raise _with_list(error) from None
            where = error.ctx.command_path if error.ctx is not None else PROGRAM
            refused = BadRequest(error.format_message(), f"See: {where} --help", code="bad_usage")
            click.echo(json.dumps(refused.as_dict()), err=True)
            ctx.exit(exit_code(refused))

    def no_command(self, ctx: click.Context, name: str) -> str:
        groups = [g for g, group in self.commands.items() if name in getattr(group, "commands", ())]
        if groups:
            refusal = suggestions.refusal(PROGRAM, "command", name, ())
            return f"{refusal} Use: {', '.join(f'{PROGRAM} {g} {name}' for g in groups)}"
        return super().no_command(ctx, name)


def _with_list(error: click.UsageError) -> click.UsageError:
    """Return an error about a missing name or id with the command that lists them; other errors unchanged."""
    if not isinstance(error, click.MissingParameter) or error.ctx is None or error.param is None:
        return error
    group = error.ctx.parent.info_name if error.ctx.parent is not None else None
    if group not in LISTED or error.param.human_readable_name not in ("NAME", "ID"):
        return error
    return click.MissingParameter(f"List them: dtrain-lab {group} list", error.ctx, error.param)


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__, prog_name=PROGRAM)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Distributed PyTorch training, from JupyterLab and from the terminal."""
    ctx.with_resource(Portal.usually("terminal"))
    if isinstance(sys.stdout, io.TextIOWrapper):  # a character that the terminal lacks is shown as "?"
        sys.stdout.reconfigure(errors="replace")


main.add_command(cluster)
for command in (measurements.history, measurements.advise, measurements.diagnose):
    cluster.add_command(command)
main.add_command(profile)
main.add_command(submit)
main.add_command(job_group)
main.add_command(sweep_group)
main.add_command(debug)
main.add_command(script)
main.add_command(slots)
main.add_command(doctor)
