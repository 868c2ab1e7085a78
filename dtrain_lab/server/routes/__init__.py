"""All routes. Handlers check, delegate and answer; every one is authenticated and authorized."""

from __future__ import annotations

from typing import Any

from dtrain_lab.server.routes import clusters, live, profiles

ID = r"(?P<identity>[A-Za-z0-9._-]+)"


def handlers() -> list[tuple[str, Any]]:
    """Paths and their handlers."""
    return [
        (r"/dtrain-lab/profiles", profiles.ProfilesHandler),
        (r"/dtrain-lab/site", profiles.SiteHandler),
        (r"/dtrain-lab/clusters", clusters.ClustersHandler),
        (rf"/dtrain-lab/clusters/{ID}", clusters.ClusterHandler),
        (rf"/dtrain-lab/clusters/{ID}/output", clusters.OutputHandler),
        (rf"/dtrain-lab/clusters/{ID}/metrics", clusters.MetricsHandler),
        (rf"/dtrain-lab/clusters/{ID}/stacks", clusters.StacksHandler),
        (rf"/dtrain-lab/clusters/{ID}/cells", clusters.CellsHandler),
        (rf"/dtrain-lab/clusters/{ID}/resize", clusters.ResizeHandler),
        (rf"/dtrain-lab/clusters/{ID}/(?P<action>interrupt|restart)", clusters.ActionHandler),
        (r"/dtrain-lab/live", live.LiveHandler),
    ]
