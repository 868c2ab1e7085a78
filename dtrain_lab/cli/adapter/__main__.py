"""`python .../dtrain_lab/cli/adapter`: what `dtrain-lab debug --stdio` does, for editors that name a path.

The cluster or job is what the arguments of `attach` name.
"""

from __future__ import annotations

import sys

if not __package__:
    del sys.path[0]  # this folder, which Python has put there

from dtrain_lab.cli.main import main

main(["debug", "--stdio"], prog_name="dtrain-lab")
