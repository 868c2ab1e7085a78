"""Redacts secrets from text and JSON that users send to others. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

REMOVED: Final = "[removed]"
SHORTEST: Final = 6
"""Minimum length of a secret: a shorter value would match inside ordinary words."""
_NAME: Final = (
    r"[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|credential"
    r"|authorization|cookie)[\w.-]*"
)
SECRET_NAME: Final = re.compile(rf"(?i)^(?:{_NAME}|.*(?:_key|_auth|_pass|_pw))$")
_PATTERNS: Final = (
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S),
        REMOVED,
    ),
    (re.compile(r"(?i)\b(bearer|basic|token)\s+[A-Za-z0-9+/=_.~-]{8,}"), rf"\1 {REMOVED}"),
    (re.compile(rf"(?i)({_NAME}[\"']?\s*[=:]\s*)([\"'])[^\"'\n]*\2"), rf"\1\2{REMOVED}\2"),
    (
        re.compile(rf"(?i)({_NAME}[\"']?\s*[=:]\s*)(?!\[removed\]|null|none)[^\s\"',;&)\]}}[{{]+"),
        rf"\1{REMOVED}",
    ),
    (re.compile(r"(://[^\s/:@]+:)[^\s/@]+@"), rf"\1{REMOVED}@"),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), REMOVED),
    (re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[a-z]-)[A-Za-z0-9_-]{16,}"), REMOVED),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), REMOVED),
)
PRIVATE_FIELDS: Final = frozenset({"variables", "keys", "secret", "parameters", "params", "token"})
"""Fields of dtrain-lab's own values whose contents are private; names of variables are kept."""


def text(given: str, secrets: Iterable[str] = ()) -> str:
    """Redact secrets in a text.

    Args:
        given: The text.
        secrets: Known secrets to remove: values of variables, keys, tokens.
    """
    for secret in sorted({k for k in secrets if len(k) >= SHORTEST}, key=len, reverse=True):
        given = given.replace(secret, REMOVED)
    for pattern, instead in _PATTERNS:
        given = pattern.sub(instead, given)
    return given


def value(given: Any, known_secrets: Iterable[str] = ()) -> Any:
    """Redact secrets in a JSON value: private fields are emptied, strings are searched.

    Args:
        given: The value; it is not changed.
        known_secrets: Secrets to look for, beside those that their form gives away.
    """
    secrets = tuple(known_secrets)
    if isinstance(given, Mapping):
        return {
            key: _private(entry)
            if key in PRIVATE_FIELDS or SECRET_NAME.match(str(key))
            else value(entry, secrets)
            for key, entry in given.items()
        }
    if isinstance(given, list | tuple):
        return [value(entry, secrets) for entry in given]
    return text(given, secrets) if isinstance(given, str) else given


def secrets_of(variables: Mapping[str, str]) -> set[str]:
    """Return the values of variables whose names mark them as secret."""
    return {v for name, v in variables.items() if SECRET_NAME.match(name) and len(v) >= SHORTEST}


def _private(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict.fromkeys(value, REMOVED)
    if value in (None, "", [], ()) or isinstance(value, bool | int | float):
        return value
    return REMOVED
