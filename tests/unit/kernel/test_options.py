"""Options of the magics: what was meant, and what there is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dtrain_lab.cells import cell_options
from dtrain_lab.errors import BadRequest, NotFound
from dtrain_lab.kernel import magics, options
from dtrain_lab.services.profiles.files import load

LINES = options.line_parser()
CELLS = cell_options.cell_parser()


@pytest.mark.parametrize(
    ("parser", "line", "said"),
    [
        (LINES, "stat", '%distributed has no command "stat". Did you mean status?'),
        (LINES, "statsu", '%distributed has no command "statsu". Did you mean status?'),
        (LINES, "xyz", '%distributed has no command "xyz".'),
        (LINES, "start --rank 3", '%distributed start has no option "--rank". Did you mean --ranks?'),
        (LINES, "start local ranks=3", '%distributed start does not take "ranks=3". Did you mean --ranks?'),
        (
            LINES,
            "stop A",
            '%distributed stop does not take "A". It is for this notebook\'s cluster. For another one, write '
            "%distributed attach A first.",
        ),
        (LINES, "wait now", '%distributed wait does not take "now".'),
        (LINES, "resize x", '%distributed resize: N takes a whole number, not "x".'),
        (LINES, "pull", "%distributed pull needs VAR."),
        (CELLS, "0 --no-wiat", '%%distributed has no option "--no-wiat". Did you mean --no-wait?'),
        (
            CELLS,
            "--ranks 0",
            '%%distributed has no option "--ranks". Write the ranks without it: %%distributed 0',
        ),
        (
            CELLS,
            "--ranks=0,2",
            '%%distributed has no option "--ranks". Write the ranks without it: %%distributed 0,2',
        ),
        (
            CELLS,
            "--ranks",
            '%%distributed has no option "--ranks". Write the ranks without it: %%distributed 0,2-3',
        ),
        (CELLS, "--timeout soon", '%%distributed: --timeout takes a number, not "soon".'),
        (CELLS, "'0", "%%distributed: No closing quotation."),
        (LINES, "start --ranks", "%distributed start: --ranks needs a value."),
        (LINES, "--ranks 2", '%distributed has no command "--ranks". Did you mean start --ranks?'),
        (
            LINES,
            "0,2-3",
            '%distributed has no command "0,2-3". To run a cell on ranks, write %%distributed 0,2-3 as its '
            "first line.",
        ),
        (CELLS, "0 2", '%%distributed does not take "2". Write several ranks without a space: "0,2-3".'),
    ],
)
def test_what_can_not_be_is_told_with_what_was_meant(
    parser: cell_options.Parser, line: str, said: str
) -> None:
    with pytest.raises(BadRequest) as error:
        cell_options.parse(parser, line)
    assert error.value.message == said
    assert error.value.hint


def test_what_can_be_is_read() -> None:
    asked = cell_options.parse(LINES, "start slurm --ranks-per-node 4 --nodes=2 --no-monitor")
    assert (asked.command, asked.profile, asked.ranks_per_node, asked.nodes) == ("start", "slurm", 4, 2)
    assert cell_options.parse(LINES, "restart 1,3 --from 0").source == 0
    assert cell_options.parse(CELLS, "0,2-3 --timeout 5 --by-rank").ranks == "0,2-3"
    assert cell_options.parse(CELLS, "").ranks == ""


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("start A", "start --name A"),
        ("start --ranks 3 A", "start --ranks 3 --name A"),
        ("start 'my model' --ranks 2", "start --name 'my model' --ranks 2"),
        ("start A --name B", None),
    ],
)
def test_a_name_where_a_profile_is_expected_is_told_how_it_is_given(line: str, meant: str | None) -> None:
    asked = cell_options.parse(LINES, line)
    with pytest.raises(NotFound) as error, options.name_meant(asked, line):
        load(asked.profile)
    told = f'To name the cluster "{asked.profile}", write %distributed {meant}. Known ones: '
    assert error.value.hint.startswith(told if meant else "Known ones: ")


@pytest.mark.parametrize("line", ["", "help", "--help", "-h", "?"])
def test_alone_it_says_what_there_is(line: str) -> None:
    with pytest.raises(cell_options.HelpAsked) as asked:
        cell_options.parse(LINES, line)
    rows = str(asked.value).splitlines()
    assert [name for name in LINES.commands if not any(row.split()[0] == name for row in rows)] == []
    assert all(len(row) < 100 for row in rows)


@pytest.mark.parametrize("name", list(LINES.commands))
def test_each_command_has_its_own_help(name: str) -> None:
    with pytest.raises(cell_options.HelpAsked) as asked:
        cell_options.parse(LINES, f"{name} --help")
    with pytest.raises(cell_options.HelpAsked, match=f"%distributed {name}"):
        cell_options.parse(LINES, f"{name} ?")
    assert str(asked.value).startswith(f"usage: %distributed {name}")


def test_help_of_a_command_can_be_asked_for_by_its_name() -> None:
    with pytest.raises(cell_options.HelpAsked) as asked:
        cell_options.parse(LINES, "help start")
    assert str(asked.value).startswith("usage: %distributed start")
    with pytest.raises(BadRequest, match="Did you mean start"):
        cell_options.parse(LINES, "help strt")


def test_help_is_plain_text_in_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):  # as IPython's kernels have them
        monkeypatch.setenv(name, "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with pytest.raises(cell_options.HelpAsked) as asked:
        cell_options.parse(options.line_parser(), "restart --help")
    assert "\x1b" not in str(asked.value)


def test_an_interrupted_command_shows_none_of_our_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    made = magics.DistributedMagics.__new__(magics.DistributedMagics)
    made._lines = LINES
    monkeypatch.setattr(made, "_command", interrupted)
    with pytest.raises(magics.CommandInterrupted) as raised:
        made.distributed("status")
    assert raised.value._render_traceback_() == ["KeyboardInterrupt: the command was interrupted."]


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        ("%distributed\nprint(rank)", True),
        ("\n%distributed \n\n# train\nfor _ in range(3):\n    step()\n", True),
        ("%distributed", False),
        ("%distributed\n# the commands\n%distributed status", False),
        ("x = 1\n%distributed\nprint(x)", False),
    ],
)
def test_one_percent_sign_above_code_asks_for_two(
    code: str, meant: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    made = magics.DistributedMagics.__new__(magics.DistributedMagics)
    made._lines = LINES
    kernel = SimpleNamespace(get_parent=lambda _: {"content": {"code": code}})
    made.shell = SimpleNamespace(kernel=kernel)
    made.distributed("")
    told = capsys.readouterr().out
    assert told.startswith("Did you mean %%distributed, with two %?") == meant
    assert ("%distributed COMMAND" in told) != meant
