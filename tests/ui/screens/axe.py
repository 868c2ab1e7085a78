"""axe, which checks accessibility."""

from __future__ import annotations

from pathlib import Path

AXE = Path(__file__).parents[3] / "node_modules" / "axe-core" / "axe.min.js"
