"""`dtrain-lab script`."""

from __future__ import annotations

from pathlib import Path

import click

from dtrain_lab.cli.base.show import as_json, print_findings, print_json, reports_errors
from dtrain_lab.cli.jobs.parameters import parameters_of
from dtrain_lab.errors import BadRequest, NotFound
from dtrain_lab.jobs.check.parameter_values import whole
from dtrain_lab.jobs.notebook.script import convert
from dtrain_lab.jobs.notebook.source import read
from dtrain_lab.placement.frameworks.names import imported
from dtrain_lab.services.plans.blocking_findings import refuse
from dtrain_lab.services.plans.notebook_code import Code


@click.command()
@click.argument("notebook")
@click.option("--param", "params", multiple=True, help="k=v for the cell tagged parameters; may be repeated.")
@as_json
@reports_errors
def script(notebook: str, params: tuple[str, ...], as_json: bool) -> None:
    """Print a notebook as the script that a job runs."""
    file = Path(notebook)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"There is no notebook {file}.", "Check the path.", code="no_notebook") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"{file} can't be read: {error}.", "Check the path.") from error
    cells = read(text, str(file))
    code = Code.local_files(cells, file.parent)
    framework = imported(code.everywhere)
    converted = convert(
        cells,
        title=file.name,
        parameters=whole(cells, parameters_of(params)),
        framework=framework[0] if framework else "torch",
        local_torch_text=code.torch_text,
        makes_group=code.makes_group,
    )
    if as_json:
        print_json({"script": converted.text, "findings": converted.findings, "installs": converted.installs})
        return
    print_findings(converted.findings)
    refuse(converted.findings)
    click.echo(converted.text, nl=False)
