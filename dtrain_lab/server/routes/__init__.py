"""All routes. Handlers validate, delegate and answer; all are authenticated and authorized."""

from __future__ import annotations

from typing import Any

from dtrain_lab.server.routes import clusters, jobs, kernels, live, measurements, profiles, signin, sweeps

ID = r"(?P<identity>[A-Za-z0-9._-]+)"


def handlers() -> list[tuple[str, Any]]:
    """Return all paths with their handlers."""
    return [
        (r"/dtrain-lab/profiles", profiles.ProfilesHandler),
        (rf"/dtrain-lab/profiles/{ID}", profiles.ProfileHandler),
        (rf"/dtrain-lab/profiles/{ID}/check", profiles.ProfileCheckHandler),
        (r"/dtrain-lab/quickstart", profiles.QuickstartHandler),
        (r"/dtrain-lab/site", profiles.SiteHandler),
        (r"/dtrain-lab/clusters", clusters.ClustersHandler),
        (rf"/dtrain-lab/clusters/{ID}", clusters.ClusterHandler),
        (rf"/dtrain-lab/clusters/{ID}/output", clusters.OutputHandler),
        (rf"/dtrain-lab/clusters/{ID}/metrics", clusters.MetricsHandler),
        (rf"/dtrain-lab/clusters/{ID}/history", clusters.HistoryHandler),
        (rf"/dtrain-lab/clusters/{ID}/stacks", clusters.StacksHandler),
        (rf"/dtrain-lab/clusters/{ID}/advise", measurements.AdviseHandler),
        (rf"/dtrain-lab/clusters/{ID}/diagnose", measurements.DiagnoseHandler),
        (rf"/dtrain-lab/clusters/{ID}/measurements", measurements.MeasurementsHandler),
        (rf"/dtrain-lab/clusters/{ID}/cells", clusters.CellsHandler),
        (rf"/dtrain-lab/clusters/{ID}/resize", clusters.ResizeHandler),
        (rf"/dtrain-lab/clusters/{ID}/(?P<action>interrupt|restart)", clusters.ActionHandler),
        (rf"/dtrain-lab/clusters/{ID}/leave-out", clusters.LeaveOutHandler),
        (rf"/dtrain-lab/kernels/{ID}", kernels.KernelHandler),
        (r"/dtrain-lab/jobs", jobs.JobsHandler),
        (r"/dtrain-lab/jobs/plan", jobs.PlanHandler),
        (rf"/dtrain-lab/jobs/{ID}", jobs.JobHandler),
        (rf"/dtrain-lab/jobs/{ID}/logs", jobs.LogsHandler),
        (rf"/dtrain-lab/jobs/{ID}/logs/matches", jobs.LogMatchesHandler),
        (rf"/dtrain-lab/jobs/{ID}/metrics", jobs.JobMetricsHandler),
        (rf"/dtrain-lab/jobs/{ID}/history", jobs.JobHistoryHandler),
        (rf"/dtrain-lab/jobs/{ID}/stacks", jobs.JobStacksHandler),
        (rf"/dtrain-lab/jobs/{ID}/notebook", jobs.JobNotebookHandler),
        (rf"/dtrain-lab/jobs/{ID}/request", jobs.JobRequestHandler),
        (rf"/dtrain-lab/jobs/{ID}/(?P<action>cancel|resume)", jobs.JobActionHandler),
        (r"/dtrain-lab/sweeps", sweeps.SweepsHandler),
        (r"/dtrain-lab/sweeps/plan", sweeps.SweepPlanHandler),
        (r"/dtrain-lab/sweeps/unreadable", sweeps.UnreadableHandler),
        (rf"/dtrain-lab/sweeps/{ID}", sweeps.SweepHandler),
        (rf"/dtrain-lab/sweeps/{ID}/trials", sweeps.TrialsHandler),
        (rf"/dtrain-lab/sweeps/{ID}/(?P<action>stop|resume)", sweeps.SweepActionHandler),
        (r"/dtrain-lab/slots", jobs.SlotsHandler),
        (rf"/dtrain-lab/slots/{ID}", jobs.HolderHandler),
        (r"/dtrain-lab/sign-in", signin.SignInHandler),
        (r"/dtrain-lab/live", live.LiveHandler),
    ]
