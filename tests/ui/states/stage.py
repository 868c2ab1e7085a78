"""One page of a real JupyterLab whose server's answers, clock and fonts are given: the same in each run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib
import msgspec

from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.site import Error, LiveFrame, Site
from tests.ui.feed import Feed
from tests.ui.lab import TOKEN, Lab
from tests.ui.states.state import PANEL
from tests.ui.states.worlds import NOW, PROFILES, SITE, as_sent
from tests.waiting import wait_until

FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
"""DejaVu comes with matplotlib: the same letters on every machine."""
FACES = {
    "Pinned Sans": (("DejaVuSans.ttf", "normal"), ("DejaVuSans-Bold.ttf", "bold")),
    "Pinned Mono": (("DejaVuSansMono.ttf", "normal"), ("DejaVuSansMono-Bold.ttf", "bold")),
}
STYLE = """
:root, body {
  --jp-ui-font-family: 'Pinned Sans' !important;
  --jp-content-font-family: 'Pinned Sans' !important;
  --jp-code-font-family: 'Pinned Mono' !important;
  --jp-code-font-family-default: 'Pinned Mono' !important;
}
*, *::before, *::after {
  animation: none !important;
  transition: none !important;
  caret-color: transparent !important;
}
/* whether a cell has the focus, and shows it, is a matter of what was open before */
.jp-Notebook .jp-Cell.jp-mod-active:focus-visible { box-shadow: none !important; outline: none !important; }
.cm-cursorLayer, .jp-toastContainer { display: none !important; }
"""
BLUR = """() => {
    const { activeElement } = document;
    // a dialog has the focus from its beginning
    if (!activeElement?.closest('.jp-Dialog')) { activeElement?.blur(); }
}"""
SETTLED = """() => new Promise(done =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"""
API = re.compile(r"^http://[^/]+/dtrain-lab/(?!live)")


class Stage:
    """Brings states about.

    Args:
        page: of the browser; nothing is open in it.
        lab: a running JupyterLab.
        feed: what the page hears in place of the server's frames.
    """

    def __init__(self, page: Any, lab: Lab, feed: Feed) -> None:
        self.page = page
        self.lab = lab
        self._feed = feed
        self._answers: dict[str, tuple[int, Any]] = {}
        self._now = NOW
        self._seq = 0
        self._asked: Site | None = None

    def open(self) -> None:
        """Open JupyterLab, with our panel at the left."""
        page = self.page
        page.add_init_script(self._feed.script)
        page.route(API, self._answer)
        page.route("**/pinned/*", lambda route: route.fulfill(path=FONTS / route.request.url.split("/")[-1]))
        page.clock.set_fixed_time(_time(NOW))
        self.reset()
        page.goto(f"{self.lab.url}/lab?token={TOKEN}&reset")
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('dtrain-lab:show-panel')")
        page.evaluate(
            """async () => {
                await window.jupyterapp.restored;
                // notebooks are looked at, and run nothing: no kernel takes its time
                window.jupyterapp.docRegistry.getWidgetFactory('Notebook')._preferKernel = false;
            }"""
        )
        page.add_style_tag(content=_faces() + STYLE)
        page.evaluate("() => Promise.all([...document.fonts].map(f => f.load()))")
        self.command("dtrain-lab:show-panel")
        page.locator(PANEL).wait_for()
        self._asked = SITE

    def reset(self) -> None:
        """As a server answers that has no cluster and no job."""
        self._answers = {}
        self._feed.refuses = False
        self.answers("GET", "site", SITE)
        self.answers("GET", "profiles", PROFILES)
        self.answers("GET", "clusters", ())
        self.answers("GET", "jobs", ())
        self.answers("GET", "sweeps", ())
        self.answers("GET", "sweeps/unreadable", ())

    def again(self) -> None:
        """Begin a state: nothing runs, nothing of the last state is open."""
        self.reset()
        self._now = NOW
        self.page.clock.set_fixed_time(_time(NOW))
        self.page.evaluate(
            """() => {
                const { shell } = window.jupyterapp;
                window.endDebugging?.();
                // an empty main area would open a launcher, some time later
                for (const widget of [...shell.widgets('main')]) {
                    if (!widget.id.startsWith('launcher')) { widget.dispose(); }
                }
                // nor does the panel keep what another state has folded or opened in it
                [...shell.widgets('left')].find(w => w.id === 'dtrain-lab-panel').choices._values.clear();
                shell.collapseRight();
                document.querySelectorAll('.jp-Dialog').forEach(d => d.remove());
                // what the debugger of another state has told is forgotten
                const plugins = window.jupyterapp.pluginRegistry._plugins;
                const { service } = plugins.get('@jupyterlab/debugger-extension:service');
                service?._sessionChanged.emit(service.session);
            }"""
        )
        self.command("apputils:dismiss-notification")
        self.command("dtrain-lab:show-panel")
        self.page.locator(PANEL).wait_for()
        self.hear([])
        if self._asked != SITE:
            self.ask_again(SITE)

    def ask_again(self, site: Site) -> None:
        """The panel is hidden and shown: it asks what the site is."""
        self.answers("GET", "site", site)
        self._asked = site
        self.command("filebrowser:activate")
        wait_until(lambda: not self._feed.watched, 10, "the panel to hang up")
        with self.page.expect_response("**/dtrain-lab/site*"):
            self.command("dtrain-lab:show-panel")
        self.hear([])

    def drop(self) -> None:
        """The server is gone."""
        self._feed.drop()

    def answers(self, method: str, path: str, document: Any, status: int = 200) -> None:
        """What the server says from now on.

        Args:
            method: of the request.
            path: below `/dtrain-lab/`, without what is asked.
            document: a value of the product's types, or what makes one of a request's query.
            status: of the answer.
        """
        self._answers[f"{method} {path}"] = (status, document)

    def hear(self, clusters: Sequence[Cluster], jobs: Sequence[Job] = (), after_s: float = 1) -> None:
        """The page hears how clusters and jobs stand, and draws it."""
        wait_until(lambda: self._feed.watched, 15, "the page to listen")
        clusters = [as_sent(cluster) for cluster in clusters]
        self._now += after_s
        self.page.clock.set_fixed_time(_time(self._now))
        self._seq += 1
        self.answers("GET", "clusters", tuple(clusters))
        for cluster in clusters:
            for part in ("history", "cells", "output"):
                self._answers.setdefault(f"GET clusters/{cluster.id}/{part}", (200, ()))
        before = self.page.evaluate("() => window.framesOfFeed ?? 0")
        self._feed.send_frame(LiveFrame("clusters", self._seq, tuple(clusters), tuple(jobs)))
        self.page.wait_for_function("n => window.framesOfFeed > n", arg=before)
        self.settle()

    def at(self, now: float) -> None:
        """Set the clock."""
        self._now = now
        self.page.clock.set_fixed_time(_time(now))

    def command(self, name: str, /, **args: Any) -> None:
        """Run a command of JupyterLab's; its end is not waited for."""
        self.page.evaluate(
            "([name, args]) => { void window.jupyterapp.commands.execute(name, args); }", [name, args]
        )

    def notebook(self, path: str, document: dict[str, Any]) -> Any:
        """Open a notebook as it lies on disk, without a kernel; returns its cells."""
        (self.lab.work / path).write_text(json.dumps(document))
        self.page.evaluate(
            """async path => {
                await window.jupyterapp.commands.execute('docmanager:open', {
                    path, factory: 'Notebook' });
            }""",
            path,
        )
        cells = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell")
        cells.nth(len(document["cells"]) - 1).wait_for(state="attached")
        return cells

    def blur(self) -> None:
        """Nothing but a dialog has the focus, and the mouse is in a corner, whatever was shown before."""
        self.page.mouse.move(0, 0)
        self.page.evaluate(BLUR)
        self.settle()

    def settle(self) -> None:
        """What was changed is drawn."""
        self.page.evaluate(SETTLED)

    def _answer(self, route: Any) -> None:
        request = route.request
        path = request.url.split("/dtrain-lab/", 1)[1].split("?")[0]
        missing = (404, Error("not_found", f"There is no {path}.", "", {}))
        status, document = self._answers.get(f"{request.method} {path}", missing)
        if callable(document):
            document = document(request.url.partition("?")[2])
        route.fulfill(
            status=status, content_type="application/json", body=msgspec.json.encode(document).decode()
        )


def _time(now: float) -> datetime:
    return datetime.fromtimestamp(now, UTC)


def _faces() -> str:
    return "".join(
        f"@font-face {{ font-family: '{family}'; font-weight: {weight}; src: url('/pinned/{name}'); }}\n"
        for family, faces in FACES.items()
        for name, weight in faces
    )
