"""`dtrain-lab`: the command groups."""

from __future__ import annotations

import click

from dtrain_lab._version import __version__
from dtrain_lab.cli.cluster import cluster
from dtrain_lab.cli.debug import debug
from dtrain_lab.cli.doctor import doctor
from dtrain_lab.cli.job import job_group, script, slots, submit
from dtrain_lab.cli.profile import profile


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dtrain-lab")
def main() -> None:
    """Distributed PyTorch training, from JupyterLab and from here."""


main.add_command(cluster)
main.add_command(profile)
main.add_command(submit)
main.add_command(job_group)
main.add_command(debug)
main.add_command(script)
main.add_command(slots)
main.add_command(doctor)
