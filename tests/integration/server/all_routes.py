"""All routes of the server extension."""

from __future__ import annotations

import re

from dtrain_lab.server.routes import handlers

METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH")


def routes() -> list[tuple[str, str]]:
    """Every path, filled in, with every method that its handler has."""
    found = []
    for pattern, handler in handlers():
        path = re.sub(r"\(\?P<identity>[^)]*\)", "some", pattern)
        actions = re.search(r"\(\?P<action>([^)]*)\)", path)
        for action in actions[1].split("|") if actions else [""]:
            filled = re.sub(r"\(\?P<action>[^)]*\)", action, path)
            methods = [m for m in METHODS if m.lower() in handler.__dict__]
            found += [(method, filled.lstrip("/")) for method in methods]
    return found
