from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def canaries() -> dict[str, str]:
    """Secrets in the environment of the person who submits: they must reach neither nodes nor files."""
    return {
        "JUPYTERHUB_API_TOKEN": "canary-hub",
        "AWS_SECRET_ACCESS_KEY": "canary-aws",
        "MY_SECRET": "canary-my",
    }
