"""Check of a notebook before submission, for errors that would only appear hours later, on many nodes.

Pure: it reads syntax trees and runs nothing. `undefined_names` finds undefined names, `portability` what only
works on one machine, `training` ranks that would train separate models. Facts that need the disk or another
environment are passed in.
"""

from __future__ import annotations

from dtrain_lab.jobs.check.notebook import CheckContext, check, imports

__all__ = ["CheckContext", "check", "imports"]
