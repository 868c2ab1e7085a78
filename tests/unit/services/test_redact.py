"""What people send to others has no secret in it."""

from __future__ import annotations

import json

import pytest

from dtrain_lab.services.bug_report import redact

SECRET = "s3cr3t-0123456789abcdef"


@pytest.mark.parametrize(
    "text",
    [
        f"export WANDB_API_KEY={SECRET}",
        f'HF_TOKEN = "{SECRET}"',
        f'{{"password": "{SECRET}", "rank": 1}}',
        f"GET /api?token={SECRET}&x=1",
        f"Authorization: Bearer {SECRET}",
        f"https://me:{SECRET}@host/repository",
        f"AWS_SECRET_ACCESS_KEY: {SECRET}",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n-----END OPENSSH PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}",
        f"hf_{SECRET.replace('-', '')}",
    ],
)
def test_a_text_has_no_secret(text: str) -> None:
    assert "0123456789" not in redact.text(text)


def test_json_stays_json() -> None:
    clean = redact.text(json.dumps({"api_token": SECRET, "token": None, "n": 1}))
    assert json.loads(clean) == {"api_token": redact.REMOVED, "token": None, "n": 1}
    assert redact.text(clean) == clean


def test_known_secrets_are_found_anywhere() -> None:
    assert redact.text("it said hunter22 twice: hunter22", ["hunter22", "it"]).count(redact.REMOVED) == 2


def test_values_lose_variables_and_keep_their_names() -> None:
    given = {"environment": {"variables": {"A": "b", "N": "1"}}, "keys": [["x", "y"]], "keyboard": "de"}
    assert redact.value(given) == {
        "environment": {"variables": {"A": redact.REMOVED, "N": redact.REMOVED}},
        "keys": redact.REMOVED,
        "keyboard": "de",
    }


def test_a_log_stays_readable() -> None:
    line = "2026-01-01 ERROR dtrain_lab.head[7] head.watch failed: OSError: [Errno 5] at main.py:12 (key 3)"
    assert redact.text(line) == line
