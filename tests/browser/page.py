"""A page as a person uses it, by the words on it; everything wrong with it is kept."""

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Request, Response, expect
from playwright.async_api import Page as Tab

from tests.browser import accessibility, boxes
from tests.browser.background_loop import BackgroundLoop

T = TypeVar("T")

DESKTOP_WIDTH = 1280
PHONE_WIDTH = 390
HEIGHTS = {DESKTOP_WIDTH: 800, PHONE_WIDTH: 844}
PATIENCE_SECONDS = 25  # Only what does not come is waited for so long.
expect.set_options(timeout=PATIENCE_SECONDS * 1000)
# Chromium's console repeats every refused answer, and without its address; we note them ourselves.
REPEATED = "Failed to load resource"
DROPPED = "net::ERR_ABORTED"
BETWEEN_TWO_CLICKS_SECONDS = 0.01
# A4 between margins of 1 cm, as browsers print: narrower than the panel's tables on a screen.
PAPER_WIDTH, MARGINS = 718, ("top", "right", "bottom", "left")
SHEET = re.compile(rb"/Type\s*/Page\b")
TABS_MAX = 80
FOCUS = """(() => {
    const one = document.activeElement;
    const label = one.labels && one.labels[0];
    const box = (one.closest("label") || one).getBoundingClientRect();
    const name = one.ariaLabel || (label ? label.innerText : one.innerText) || one.title || "";
    const { outlineStyle, boxShadow } = getComputedStyle(one);
    const isInside = box.width > 0 && box.top < innerHeight && box.bottom > 0
        && box.left < innerWidth && box.right > 0;
    const isMarked = outlineStyle !== "none" || boxShadow !== "none";
    // Behind the last of the page the browser's own window has the focus.
    return { name: name.trim(), isSeen: one === document.body || isInside && isMarked };
})()"""
# For people who look at pages.
PICTURES = Path(os.environ["PICTURES"]) if "PICTURES" in os.environ else None
TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", violation =>
    tellViolation(`${violation.effectiveDirective} refuses ${violation.blockedURI}`));
"""
# Of what moves without a click or a key: a person would press beside what they meant. While a page
# is still coming, the pace of the machine decides what it paints in between: there only what moves
# far counts. The rest is painted by the first frame after the last byte was read.
NOTE_SHIFTS = """
window.shifts = [];
window.wholeFrom = Infinity;  // When the second frame after the last byte begins.
document.addEventListener("readystatechange", () => requestAnimationFrame(() =>
    requestAnimationFrame(() => { window.wholeFrom = performance.now(); })), { once: true });
window.noteShifts = entries => {
    const most = one => one.startTime < window.wholeFrom ? 0.1 : 0.01;
    for (const one of entries) if (!one.hadRecentInput && one.value >= most(one)) {
        const moved = one.sources.map(source => source.node && source.node.nodeName).join(" ");
        window.shifts.push(`the layout shifts by ${one.value.toFixed(4)}: ${moved}`);
    }
};
window.shiftObserver = new PerformanceObserver(list => window.noteShifts(list.getEntries()));
window.shiftObserver.observe({ type: "layout-shift", buffered: true });
"""
TAKE_SHIFTS = """() => {
    window.noteShifts(window.shiftObserver.takeRecords());
    return window.shifts.splice(0);
}"""
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


class Page:
    """One tab in a context of its own. `findings` fail the test at its end.

    `clicks` counts what was pressed, opened and chosen, as people count it.
    """

    def __init__(self, tab: Tab, loop: BackgroundLoop, *, has_scripts: bool) -> None:
        self.findings: list[str] = []
        self._tab = tab
        self._loop = loop
        self._has_scripts = has_scripts
        self._shown: Response | None = None
        self._is_impatient = False
        self._held: list[str] = []
        self.clicks = 0
        tab.on("console", self._note_console)
        tab.on("pageerror", lambda error: self._note(f"uncaught: {error}"))
        tab.on("requestfailed", self._note_failure)
        tab.on("response", self._note_response)

    @classmethod
    async def open(
        cls,
        browser: Browser,
        loop: BackgroundLoop,
        base_url: str,
        *,
        width: int = DESKTOP_WIDTH,
        theme: str = "light",
        scripts: bool = True,
        **options: Any,
    ) -> "Page":
        """Open an empty page; more options are those of Playwright's `new_context`."""
        context = await browser.new_context(
            base_url=base_url,
            viewport={"width": width, "height": HEIGHTS.get(width, 800)},
            color_scheme=theme,
            java_script_enabled=scripts,
            **options,
        )
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        page = cls(await context.new_page(), loop, has_scripts=scripts)
        await context.expose_binding("tellViolation", lambda _source, text: page._note(text))
        await context.add_init_script(TELL_VIOLATIONS)
        await context.add_init_script(NOTE_SHIFTS)
        await accessibility.provide_axe(context)
        return page

    # --- What a person does -----------------------------------------------------------------

    def visit(self, address: str, *, status: int = 200) -> None:
        """Go to the address, and examine what comes."""
        self._run(lambda tab: tab.goto(address))
        self._examine(status)

    def see(self, text: str, *, status: int = 200) -> None:
        """Wait until the page shows the text, and examine the page."""
        # Another text like it may stand in what is folded away.
        shown = lambda tab: tab.get_by_text(text).filter(visible=True).first  # noqa: E731
        self._run(lambda tab: expect(shown(tab)).to_be_visible())
        # Until its styles are there, a page has another look than people see.
        self._run(lambda tab: tab.wait_for_load_state())
        self._examine(status)

    def sees_either(self, text: str, other: str) -> bool:
        """Wait until the page shows one of two texts; tell whether it is the first."""

        async def look(tab: Tab) -> bool:
            first, second = (tab.get_by_text(one).first for one in (text, other))
            await expect(first.or_(second).first).to_be_visible()
            return await first.is_visible()

        return self._run(look)

    def click(self, name: str) -> None:
        """Press the button, or follow the link, of this name."""
        self.clicks += 1
        self._run(lambda tab: _named(tab, name).click())

    def double_click(self, name: str) -> None:
        """Press the button twice, and wait for nothing, as people do.

        The browser drops the first request for the second: no finding from now on.
        """
        self._is_impatient = True
        self._run(lambda tab: _press_twice(tab, name))

    def go_back(self) -> None:
        """Press the browser's back button."""
        self._run(lambda tab: tab.go_back())

    def go_forward(self) -> None:
        """Press the browser's forward button."""
        self._run(lambda tab: tab.go_forward())

    def wait_for_address(self, pattern: str) -> None:
        self._run(lambda tab: tab.wait_for_url(pattern))

    def reload(self) -> None:
        self._run(lambda tab: tab.reload())

    def submit(self) -> None:
        """Send the page's form where no answer may come: `click` would wait for one."""
        self.evaluate("document.forms[0].requestSubmit()")

    def fill(self, label: str, text: str) -> None:
        self._run(lambda tab: tab.get_by_label(label, exact=True).fill(text))

    def autofill(self, label: str, **stored: Any) -> None:
        """Let the browser fill in what it has stored, as if it were chosen at a field.

        :param stored: a `card` or an `address`, as Chromium's `Autofill.trigger` has it.
        """

        async def choose(tab: Tab) -> None:
            field = f'[id="{await tab.get_by_label(label, exact=True).get_attribute("id")}"]'
            browser = await tab.context.new_cdp_session(tab)
            await browser.send("Autofill.enable")
            root = (await browser.send("DOM.getDocument"))["root"]["nodeId"]
            found = await browser.send("DOM.querySelector", {"nodeId": root, "selector": field})
            node = (await browser.send("DOM.describeNode", found))["node"]
            await browser.send("Autofill.trigger", {"fieldId": node["backendNodeId"], **stored})
            await tab.wait_for_selector(f"{field}:autofill")

        self._run(choose)

    def add_authenticator(self) -> None:
        """Give the browser a device that keeps passkeys, whose owner always consents."""
        device = {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True,
            "hasUserVerification": True, "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }  # fmt: skip

        async def add(tab: Tab) -> None:
            browser = await tab.context.new_cdp_session(tab)
            await browser.send("WebAuthn.enable")
            await browser.send("WebAuthn.addVirtualAuthenticator", {"options": device})

        self._run(add)

    def choose(self, label: str, option: str) -> None:
        """Choose an option of a list by its words."""
        self._run(lambda tab: tab.get_by_label(label, exact=True).select_option(label=option))

    def click_text(self, text: str) -> None:
        """Press what is neither a button nor a link, such as the head of what is folded away."""
        self._run(lambda tab: tab.get_by_text(text, exact=True).click())

    def unfold(self, head: str) -> None:
        """Open what is folded away behind this head."""
        self.clicks += 1
        self._run(lambda tab: tab.locator("summary").filter(has_text=head).first.click())

    def click_label(self, label: str) -> None:
        """Press what a screen reader knows by this label alone, such as the head of a menu."""
        self._run(lambda tab: tab.get_by_label(label, exact=True).click())

    def wait_for_text(self, selector: str, text: str) -> None:
        """Wait until an element, seen or not, says the text."""
        self._run(lambda tab: expect(tab.locator(selector)).to_have_text(text))

    def check(self, label: str) -> None:
        """Choose one of several by its button."""
        self._run(lambda tab: tab.get_by_label(label, exact=True).check())

    def check_value(self, value: str) -> None:
        """Choose the box of a list that stands for this value."""
        self.clicks += 1
        self._run(lambda tab: tab.locator(f'input[value="{value}"]').check())

    def give_file(self, label: str, name: str, content: bytes) -> None:
        """Choose a file."""
        file = {"name": name, "mimeType": "text/csv", "buffer": content}
        self._run(lambda tab: tab.get_by_label(label, exact=True).set_input_files(file))

    def press(self, key: str) -> None:
        self._run(lambda tab: tab.keyboard.press(key))

    def type(self, text: str) -> None:
        """Type into the field that has the focus, in the place of what it marks."""
        self._run(lambda tab: tab.keyboard.type(text))

    def tab_to(self, name: str) -> None:
        """Press Tab until what has the focus is called so; note a stop that cannot be seen."""
        for _ in range(TABS_MAX):
            self.press("Tab")
            focus = self.evaluate(FOCUS)
            if not focus["isSeen"]:
                self._note(f"{self.url}: the focus cannot be seen at {focus['name']!r}")
            if focus["name"] == name:
                return
        raise AssertionError(f"Tab never reached {name!r}")

    # --- What a test asks -------------------------------------------------------------------

    @property
    def url(self) -> str:
        return self._tab.url

    @property
    def text(self) -> str:
        return self._run(lambda tab: tab.inner_text("body"))

    def values(self) -> list[str]:
        """Return what stands in the page's fields, the hidden ones left out."""
        fields = "input:not([type=hidden]), textarea"
        read = "found => found.map(one => one.value)"
        return self._run(lambda tab: tab.eval_on_selector_all(fields, read))

    def read_out(self) -> str:
        """Return what a screen reader is told, as Playwright writes it down."""
        return self._run(lambda tab: tab.locator("body").aria_snapshot())

    def evaluate(self, script: str) -> Any:
        """Return what a script of the test's own makes of the page; no policy holds for it."""
        return self._run(lambda tab: tab.evaluate(script))

    def first_paint_ms(self) -> float:
        """Return how long the page took to show something: to be read, not to be proved."""
        return float(self.evaluate(FIRST_PAINT) or 0)

    def cookies(self) -> list[str]:
        """Return the names of the cookies that were set, by whomever."""
        kept = self._run(lambda tab: tab.context.cookies())
        return [cookie["name"] for cookie in kept]

    def hold(self, file: str, *, instead: str = "") -> None:
        """Let a script never come: give another one in its place.

        Where the page names the script's digest, the browser refuses the other one.
        """
        self._held.append(file)
        other = {"body": instead, "content_type": "text/javascript"}
        self._run(lambda tab: tab.route(f"**/{file}", lambda route: route.fulfill(**other)))

    def download(self, name: str) -> tuple[str, bytes]:
        """Press the button of this name; return the name and content of the file that comes.

        To the browser a page that becomes a file is a request that it drops.
        """
        self._is_impatient = True

        async def load(tab: Tab) -> tuple[str, bytes]:
            async with tab.expect_download() as coming:
                await _named(tab, name).click()
            file = await coming.value
            return file.suggested_filename, Path(await file.path()).read_bytes()

        return self._run(load)

    def print_out(self, name: str) -> tuple[str, int]:
        """Print the page on A4; return what can be read on the paper, and the number of sheets.

        What is wider than the paper is noted, and what is not dark on white enough.

        :param name: of the picture of the paper that is kept.
        """
        size = self._tab.viewport_size

        async def on_paper(tab: Tab) -> tuple[list[str], str, bytes]:
            await tab.emulate_media(media="print")
            await tab.set_viewport_size({"width": PAPER_WIDTH, "height": 1000})
            problems = [*await boxes.wider(tab), *await boxes.pale(tab)]
            text = await tab.inner_text("body")
            if PICTURES:
                await tab.screenshot(path=PICTURES / f"{name}.png", full_page=True)
            file = await tab.pdf(format="A4", margin=dict.fromkeys(MARGINS, "1cm"))
            await tab.emulate_media(media="screen")
            await tab.set_viewport_size(size)
            return problems, text, file

        problems, text, file = self._run(on_paper)
        for problem in problems:
            self._note(f"{self.url} on paper: {problem}")
        return text, len(SHEET.findall(file))

    def resize(self, width: int) -> None:
        """Give the window another width, in CSS pixels."""
        size = {"width": width, "height": HEIGHTS.get(width, 800)}
        self._run(lambda tab: tab.set_viewport_size(size))

    def note_wide_boxes(self, *widths: int) -> None:
        """Note each box that is wider than its frame while the window has each of the widths."""
        for width in widths:
            self.resize(width)
            for problem in self._run(boxes.wider):
                self._note(f"{self.url} at {width} px: {problem}")

    def picture(self, file: Path, *, whole: bool = True) -> None:
        """Write what the page looks like, as a PNG: for people who work on it.

        :param whole: what lies below the window too.
        """
        self._run(lambda tab: tab.screenshot(path=file, full_page=whole))

    def keep_picture(self, name: str) -> None:
        """Write a picture into the directory that PICTURES names, if it names one."""
        if PICTURES:
            PICTURES.mkdir(parents=True, exist_ok=True)
            self.picture(PICTURES / f"{name}.png")

    def take_findings(self) -> str:
        """Return what was found so far, and forget it."""
        taken, self.findings[:] = "\n".join(self.findings), []
        return taken

    def wait_for_finding(self, part: str) -> None:
        """Wait until something is found that has these words in it, and forget everything."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any(part in finding for finding in self.findings):
            assert time.monotonic() < deadline, self.findings
            time.sleep(0.02)
        self.take_findings()

    def close(self) -> None:
        self._run(lambda tab: tab.context.close())

    # --- What is looked at ------------------------------------------------------------------

    def _examine(self, status: int) -> None:
        shown = self._shown.status if self._shown else None
        if shown == status:
            self._forget(_refusal(self._shown))
        else:
            self._note(f"{self.url} answered {shown}, expected {status}")
        problems = self._run(accessibility.structure)
        if self._has_scripts:
            problems += self._run(accessibility.axe)
            if not self._is_of_django():
                problems += self.evaluate(TAKE_SHIFTS)
        for problem in problems:
            self._note(f"{self.url}: {problem}")

    def _is_of_django(self) -> bool:
        # Its script opens the admin's sidebar once the page is painted: not ours to mend.
        return urlsplit(self.url).path.startswith("/admin/")

    def _note(self, finding: str) -> None:
        self.findings.append(finding)

    def _forget(self, finding: str) -> None:
        if finding in self.findings:
            self.findings.remove(finding)

    def _note_console(self, message: ConsoleMessage) -> None:
        is_held = "integrity" in message.text and any(file in message.text for file in self._held)
        if message.type == "error" and not message.text.startswith(REPEATED) and not is_held:
            self._note(f"console: {message.text}")

    def _note_failure(self, request: Request) -> None:
        if not (self._is_impatient and request.failure == DROPPED):
            self._note(f"{request.failure} for {request.url}")

    def _note_response(self, response: Response) -> None:
        if _is_document(response.request):
            self._shown = response
        if response.status >= 400:
            self._note(_refusal(response))

    def _run(self, work: Callable[[Tab], Awaitable[T]]) -> T:
        async def run() -> T:
            return await work(self._tab)

        return self._loop.run(run())


def click_at_once(name: str, *pages: Page) -> None:
    """Press the button of this name in several browsers at the same time."""

    async def click() -> None:
        await asyncio.gather(*(_named(page._tab, name).click() for page in pages))

    pages[0]._loop.run(click())


async def _press_twice(tab: Tab, name: str) -> None:
    box = await _named(tab, name).bounding_box()
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    await tab.mouse.click(*place)
    # Chromium makes one request of two clicks in the same moment.
    await asyncio.sleep(BETWEEN_TWO_CLICKS_SECONDS)
    await tab.mouse.click(*place)


def _named(tab: Tab, name: str) -> Any:
    button = tab.get_by_role("button", name=name, exact=True)
    return button.or_(tab.get_by_role("link", name=name, exact=True))


def _is_document(request: Request) -> bool:
    return request.is_navigation_request() and request.frame.parent_frame is None


def _refusal(response: Response) -> str:
    return f"{response.status} for {response.url}"
