"""Every state of the screens, looked at: where things lie, what axe says, what every pixel was.

One walk: a lab, a browser, a page. `--sheet` takes a picture of each state at each size and makes the contact
sheet of them; `--update-baselines` makes today's pictures the baselines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

import pytest

from tests.ui import pixels, sheet
from tests.ui.conftest import SHOTS
from tests.ui.feed import run_feed
from tests.ui.geometry import COLOURS, Fault, faults_of
from tests.ui.known import KNOWN, KNOWN_ACCESS, Known
from tests.ui.lab import CHROMIUM_FLAGS, Lab, chromium
from tests.ui.screens.axe import AXE
from tests.ui.states import STATES
from tests.ui.states.stage import Stage
from tests.ui.states.state import PANEL, State

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(600),
]

LIGHT, DARK, CONTRAST = "JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"
SHORT = {LIGHT: "light", DARK: "dark", CONTRAST: "contrast"}
SIZES = ((1440, 900), (1024, 768))
NARROW = 250
"""Pixels of the sidebar at the second size."""
FLAGS = [*CHROMIUM_FLAGS, "--font-render-hinting=none", "--disable-lcd-text", "--force-color-profile=srgb"]
PUSHED_OUT = """() => {
    const items = [...document.querySelectorAll('#jp-main-statusbar .jp-StatusBar-Item')]
        .map(item => ({ text: item.textContent || item.title, box: item.getBoundingClientRect() }))
        .filter(({ box }) => box.width > 0)
        .sort((a, b) => a.box.left - b.box.left);
    return items.filter(({ box }, i) =>
        box.left < 0 || box.right > innerWidth || (i > 0 && items[i - 1].box.right > box.left + 1)
    ).map(({ text }) => text);
}"""
"""Items of the status bar that are outside of the window, or below others."""
ORDER = {state.name: place for place, state in enumerate(STATES)}
MADE_WITH = pixels.BASELINES / "made-with.json"


@dataclass
class Walk:
    """What a walk over all states has found; `partial`: over some of them."""

    version: str
    partial: bool
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    access: list[tuple[str, str, str, str]] = field(default_factory=list)
    """State and theme, axe's rule, its place, what is wrong."""
    pictures: dict[str, bytes] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    shots: list[sheet.Shot] = field(default_factory=list)


@pytest.fixture(scope="module")
def walk(lab: Lab, playwright: Any, request: pytest.FixtureRequest) -> Iterator[Walk]:
    with run_feed() as feed:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        context = browser.new_context(
            viewport={"width": SIZES[0][0], "height": SIZES[0][1]},
            reduced_motion="reduce",
            device_scale_factor=1,
            locale="en-US",
            timezone_id="UTC",
        )
        page = context.new_page()
        page.set_default_timeout(20_000)
        found = Walk(browser.version, partial=bool(request.config.getoption("--state")))
        page.on("pageerror", lambda error: _hear(error.stack or str(error), found))
        stage = Stage(page, lab, feed)
        stage.open()
        page.add_script_tag(path=str(AXE))
        (SHOTS / "states").mkdir(parents=True, exist_ok=True)
        wanted = request.config.getoption("--state")
        everything = request.config.getoption("--sheet")
        for theme in (LIGHT, DARK, *([CONTRAST] if everything else [])):
            _change_theme(page, theme)
            for state in STATES:
                if (wanted and not fnmatch(state.name, wanted)) or (theme == CONTRAST and not state.contrast):
                    continue
                _look(stage, state, theme, found, pictured=everything)
        if everything:
            pages = sheet.write(sorted(found.shots, key=lambda shot: ORDER[shot.state]), SHOTS)
            print(f"\n{len(found.shots)} pictures: {SHOTS / 'sheet.html'}, or {pages[0]} and on")
        yield found
        context.close()
        browser.close()


def _hear(error: str, found: Walk) -> None:
    """Errors of our scripts; ipywidgets, for one, has its own with a notebook that has no kernel."""
    if "/extensions/dtrain-lab/" in error:
        found.broken.append(f"a script's error: {error}")


def _change_theme(page: Any, theme: str) -> None:
    page.evaluate(
        "async theme => { await window.jupyterapp.commands.execute('apputils:change-theme', { theme }); }",
        theme,
    )
    page.locator(f"body[data-jp-theme-name='{theme}']").wait_for(state="attached")
    page.locator("#jupyterlab-splash").wait_for(state="detached")


def _look(stage: Stage, state: State, theme: str, found: Walk, *, pictured: bool) -> None:
    """Bring a state about and look at it, at each size; `pictured`: for the sheet, too."""
    page = stage.page
    name = f"{state.name}-{SHORT[theme]}"
    try:
        stage.again()
        page.mouse.move(0, 0)  # nothing is pointed at
        _resize(stage, *SIZES[0], sidebar=300)
        state.show(stage)
        if not state.focused:
            stage.blur()
    except Exception as error:  # noqa: BLE001 - one state that can't be shown is told of, and the walk goes on
        found.broken.append(f"{name}: {error}")
        print(found.broken[-1])
        page.screenshot(path=SHOTS / f"failed-state-{name}.png")
        return
    parts = ", ".join(state.part)
    if state.pinned and theme != CONTRAST:
        found.pictures[name] = page.locator(state.part[0]).first.screenshot()
        if state.beside:
            found.pictures[f"{state.name}-beside-{SHORT[theme]}"] = page.locator(state.beside).screenshot()
    if theme == LIGHT:
        found.access += [(name, *said) for said in _axe(page, parts)]
    for part in page.locator(parts).all():
        # axe leaves out colours that are mixed, as ours are
        found.faults.setdefault(name, []).extend(faults_of(part, COLOURS))
    for width, height in SIZES:
        # colours move nothing: where things lie is measured once
        if theme != LIGHT and not pictured:
            break
        if (width, height) != SIZES[0]:
            _resize(stage, width, height, sidebar=NARROW)
        if theme == LIGHT:
            faults = found.faults.setdefault(state.name, [])
            for part in page.locator(parts).all():
                faults += faults_of(part)
            faults += [Fault("pushed", "the status bar", item) for item in page.evaluate(PUSHED_OUT)]
        if pictured:
            path = SHOTS / "states" / f"{name}-{width}.png"
            # a state of the panel alone is shown without what stands beside it
            (page.locator(PANEL) if state.part == (PANEL,) else page).screenshot(path=path)
            found.shots.append(sheet.Shot(state.name, f"{width}, {SHORT[theme]}", path))


def _resize(stage: Stage, width: int, height: int, sidebar: int) -> None:
    """Make the page so large, and its left sidebar so wide: to the pixel, or all below it would move."""
    page = stage.page
    page.set_viewport_size({"width": width, "height": height})
    wanted = sidebar
    for _ in range(6):
        stage.settle()
        now = page.evaluate("selector => document.querySelector(selector).offsetWidth", PANEL)
        if now in (0, sidebar):
            return
        page.evaluate(
            """wide => {
                const split = window.jupyterapp.shell._hsplitPanel;
                const total = split.node.clientWidth;
                const rest = split.relativeSizes()[2] * total;
                split.setRelativeSizes([wide, total - wide - rest, rest]);
            }""",
            wanted,
        )
        stage.settle()
        wanted += sidebar - page.evaluate("selector => document.querySelector(selector).offsetWidth", PANEL)
    raise AssertionError(f"the sidebar is {now} pixels wide, not {sidebar}")


def _axe(page: Any, parts: str) -> list[tuple[str, str, str]]:
    """What axe has against a part: the rule, the place, what is wrong."""
    looked, violations = page.evaluate(
        """async parts => {
            const own = "[class*='jp-Dtrain']:not(.jp-Cell)";
            const outermost = (part, own) =>
                [...part.querySelectorAll(own)].filter(e => !part.contains(e.parentElement.closest(own)));
            const include = [...document.querySelectorAll(parts)].flatMap(part =>
                part.matches(`${own}, [id^=dtrain]`) ? [part] : outermost(part, own));
            const exclude = [['.cm-editor'], ['.jp-OutputArea-output']];
            if (!include.length) { return [0, []]; }
            const result = await axe.run({ include, exclude }, { resultTypes: ['violations'] });
            return [result.passes.length + result.incomplete.length, result.violations];
        }""",
        parts,
    )
    found = [
        (violation["id"], str(node["target"][0]), f"{node['html'][:120]} ({node['failureSummary'][:300]})")
        for violation in violations
        for node in violation["nodes"]
    ]
    return found if looked or found else [("nothing", parts, "axe has looked at nothing")]


def test_every_state_is_shown(walk: Walk) -> None:
    assert not walk.broken, "\n".join(walk.broken)


def test_everything_lies_where_it_should(walk: Walk) -> None:
    said = [
        (state, fault.check, fault.where, fault.what)
        for state, faults in walk.faults.items()
        for fault in dict.fromkeys(faults)
    ]
    _judge(walk, said, KNOWN, "faults")


def test_axe_finds_nothing_in_any_state(walk: Walk) -> None:
    _judge(walk, walk.access, KNOWN_ACCESS, "axe")


def _judge(walk: Walk, said: Sequence[tuple[str, str, str, str]], known: Sequence[Known], name: str) -> None:
    """Nothing new is wrong, and what is known to be wrong still is: else it is taken off the list."""
    (SHOTS / f"{name}.txt").write_text("\n".join(map(": ".join, said)))
    is_of = {
        k: [s for s in said if fnmatch(s[0], k.states) and s[1] == k.check and k.where in s[2]] for k in known
    }
    old = {s for found in is_of.values() for s in found}
    news = [": ".join(s) for s in said if s not in old]
    assert not news, "\n".join(news)
    gone = [k for k, found in is_of.items() if not found and any(fnmatch(s, k.states) for s in walk.faults)]
    assert not gone or walk.partial, f"mended: take them out of tests/ui/known.py: {gone}"


def test_every_pixel_is_as_it_was(walk: Walk, request: pytest.FixtureRequest) -> None:
    made_with = {"chromium": walk.version.split(".")[0]}
    if request.config.getoption("--update-baselines"):
        for name, picture in walk.pictures.items():
            pixels.keep(name, picture)
        MADE_WITH.write_text(json.dumps(made_with) + "\n")
        return
    if not MADE_WITH.exists() or json.loads(MADE_WITH.read_text()) != made_with:
        pytest.skip(
            f"NO BASELINES for Chromium {made_with['chromium']}: pixels were NOT compared. "
            "Another version draws other pixels; make baselines, on the code as it was."
        )
    differ = [pixels.difference(name, picture, SHOTS) for name, picture in walk.pictures.items()]
    assert not any(differ), "\n".join(filter(None, differ))
