"""Colours of lines that stand among those of other ranks."""

from __future__ import annotations

from dtrain_lab.cells.ansi import Colours
from dtrain_lab.cells.merge import LineMerger, LineWriter


def test_a_colour_over_several_lines_ends_and_begins_with_each() -> None:
    colours = Colours()
    assert colours.line("\x1b[31mred") == "\x1b[31mred\x1b[0m"
    assert colours.line("\x1b[1mand bold") == "\x1b[31m\x1b[1mand bold\x1b[0m"
    assert colours.line("still\x1b[22m red\x1b[39m not") == "\x1b[31;1mstill\x1b[22m red\x1b[39m not"
    assert colours.line("plain") == "plain"


def test_long_codes_of_colours_are_kept_whole() -> None:
    colours = Colours()
    colours.line("\x1b[38;5;28;48;2;1;2;3;4mx")
    assert colours.line("y\x1b[0m") == "\x1b[38;5;28;48;2;1;2;3;4my\x1b[0m"


def test_ranks_do_not_colour_each_other() -> None:
    merger, writer = LineMerger(2), LineWriter()
    merger.feed(0, "stdout", "\x1b[31mred\nstill\x1b[0m\n", 0.0)
    merger.feed(1, "stdout", "plain\n", 0.0)
    text = "".join(writer.write(piece) for piece in merger.finish())
    assert text == "[0] \x1b[31mred\x1b[0m\n[0] \x1b[31mstill\x1b[0m\n[1] plain\n"
