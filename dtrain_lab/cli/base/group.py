"""Groups of commands whose errors about unknown commands and options are worded as those of the magics."""

from __future__ import annotations

from typing import Any

import click

from dtrain_lab.text import suggestions

PROGRAM = "dtrain-lab"


class Group(click.Group):
    """A group that says which command or option was probably meant, and else which commands there are."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchOption as error:
            raise _no_option(error) from None
        except click.UsageError as error:
            raise click.UsageError(self.no_command(ctx, args[0]), error.ctx) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _no_option(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:  # of a command, whose options are parsed here
            raise _no_option(error) from None

    def no_command(self, ctx: click.Context, name: str) -> str:
        """Return the error about a command that this group lacks.

        Args:
            ctx: The group's context.
            name: What was typed in place of a command.
        """
        refusal = suggestions.refusal(_typed(ctx), "command", name, self.commands)
        return refusal if refusal.endswith("?") else f"{refusal} Commands: {', '.join(self.commands)}."


def _no_option(error: click.NoSuchOption) -> click.UsageError:
    """Return click's error about an option in the words of the magics."""
    if error.ctx is None:
        return error
    options = [
        o
        for parameter in error.ctx.command.get_params(error.ctx)
        for o in parameter.opts
        if o.startswith("--")
    ]
    name = error.option_name
    return click.UsageError(suggestions.refusal(_typed(error.ctx), "option", name, options), error.ctx)


def _typed(ctx: click.Context) -> str:
    """The words that lead to a command: click's path begins with the name of the script."""
    return " ".join([PROGRAM, *ctx.command_path.split()[1:]])
