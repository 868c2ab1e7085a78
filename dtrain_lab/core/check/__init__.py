"""A look at a notebook before it is submitted: what would only fail hours later, on many nodes.

Pure: it reads syntax trees and runs nothing. `names` finds what is used and never defined, `machine` what
holds on one machine only, `training` what makes many ranks train apart. What needs the disk or another
environment comes in as facts.
"""

from __future__ import annotations

from dtrain_lab.core.check.notebook import Around, check, imports

__all__ = ["Around", "check", "imports"]
