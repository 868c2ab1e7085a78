"""Options of jobs and sweeps: the fields of a request that users set, each declared once.

The terminal's options are made from them (`cli/jobs/request_options.py`), and so is the command beside a plan
(`jobs/command.py`). Types and defaults are those of the request. `dt.submit` and `dt.sweep` have signatures
of their own, for editors and readers; REST takes the request. A test compares the options of all of them.
"""

from __future__ import annotations

from typing import NamedTuple, get_args

from dtrain_lab.wire.kinds import SlurmLauncher
from dtrain_lab.wire.sweeps import NODES, RANKS_PER_NODE


class RequestOption(NamedTuple):
    """A field of a request that users set.

    `help`: what it is for; `of_sweep`: the same in a sweep, if it differs. `word`: its name in a terminal, if
    that is not the field's. `choices`: the words that a terminal offers, if they are not all of the field's.
    """

    field: str
    help: str
    of_sweep: str = ""
    word: str = ""
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """Its name on a command line, without the dashes before it."""
        return self.word or self.field.replace("_", "-")


JOB_OPTIONS = (
    RequestOption("profile", "Where to run."),
    RequestOption("ranks", "Number of ranks; the plan chooses the nodes.",
                  "Ranks of a trial; the plan chooses the nodes."),
    RequestOption("nodes", "Number of nodes.", f"Nodes of a trial; default: {NODES}."),
    RequestOption("ranks_per_node", "Ranks on each node.", f"Ranks on each node; default: {RANKS_PER_NODE}."),
    RequestOption("name", "Name of the job.", "Name of the sweep."),
    RequestOption("partition", "Slurm partition; overrides the profile."),
    RequestOption("environment", '"current" or kind:path; overrides the profile.'),
    RequestOption("interface", "Network interface; overrides the profile."),
    RequestOption("options", "Extra option for the scheduler; may be repeated.", word="option"),
    RequestOption("time", 'Time limit, "02:00:00".', 'Time limit of a trial, "02:00:00".'),
    RequestOption("stage", "Data to copy to each node's local disk; may be repeated."),
    RequestOption("launcher", "Slurm's launcher.", choices=get_args(SlurmLauncher)),
    RequestOption("framework", "torch, tensorflow or mindspore; overrides the profile."),
    RequestOption("after", "Start only after this job has succeeded.",
                  "Start trials only after this job has succeeded."),
    RequestOption("retries", "Retries of a failed run.", "Retries of a failed trial."),
    RequestOption("warn_s", "Warn ranks this many seconds before the limit.", word="warn"),
    RequestOption("mail", "E-mail address for Slurm's notifications."),
    RequestOption("notify", "Command that the job runs when it ends.",
                  "Command that each trial runs when it ends."),
    RequestOption("kernel", "Use this kernel's Python instead of the terminal's."),
    RequestOption("files", "Copy the small files in the notebook's folder."),
    RequestOption("monitor", "Measure steps and communication."),
)  # fmt: skip
"""Of jobs, and of the trials of a sweep."""
SWEEP_OPTIONS = (
    RequestOption("objective", "Name of a value that the notebook passes to dt.log."),
    RequestOption("direction", "What is best for the objective."),
    RequestOption("sampler", "How values are chosen."),
    RequestOption("pruner", "Stop bad trials early."),
    RequestOption("trials", "Maximum number of trials; default: the whole grid, else 16."),
    RequestOption("parallel", "Trials to run at once; default: as many as fit, 4 with a scheduler."),
)
"""Of sweeps only."""
