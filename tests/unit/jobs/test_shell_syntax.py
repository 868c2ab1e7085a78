"""The command at a job's end is read by the shell before the job is submitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtrain_lab.services.plans.requests.shell_syntax import refusal


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ('echo "', 'its closing " is missing'),
        ("echo 'done", "its closing ' is missing"),
        ("echo $(date", "its closing ) is missing"),
        ("echo )", "there is a syntax error at )"),
        ("a | | b", "there is a syntax error at |"),
        ("if true", "it ends too early"),
        ("echo >", "a line ends too early"),
    ],
)
async def test_a_command_that_the_shell_cannot_read_is_refused_at_its_field(command: str, why: str) -> None:
    error = await refusal(command)
    assert error is not None
    assert (error.message, error.details) == (
        f"The shell can't read the command: {why}.",
        {"field": "notify"},
    )


@pytest.mark.parametrize(
    "command",
    [
        None,
        "",
        "echo done",
        'curl -d "job $?" https://example.org/hook || true',
        "[[ -e a ]] && cat <(echo größer)",  # as bash reads it, not sh
        "cat <<X\nno end",
        "no-such-command --at all",
    ],
)
async def test_any_other_command_is_accepted(command: str | None) -> None:
    assert await refusal(command) is None


async def test_reading_it_runs_nothing(tmp_path: Path) -> None:
    assert await refusal(f"touch {tmp_path}/ran; echo $(touch {tmp_path}/ran)") is None
    assert not list(tmp_path.iterdir())
