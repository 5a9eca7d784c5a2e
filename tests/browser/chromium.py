"""The machine's Chromium, driven by Playwright."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, async_playwright

from tests.browser.background_loop import BackgroundLoop
from tests.browser.page import Page

START_PATIENCE_SECONDS = 60
# Nothing leaves the machine: no other name is ever looked up.
STAY_HERE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"


class Chromium:
    """The machine's Chromium, without a window; each page has cookies and a cache of its own."""

    def __init__(self, program: str, *args: str, **options: Any) -> None:
        """Start it.

        :param args: more of Chromium's own.
        :param options: more of Playwright's `launch`.
        """
        self.loop = BackgroundLoop(patience_seconds=START_PATIENCE_SECONDS)
        self._playwright: Any = self.loop.run(async_playwright().start())
        # Without Chromium's sandbox (Playwright's default): root has none, nor do containers.
        self._browser: Browser = self.loop.run(
            self._playwright.chromium.launch(
                executable_path=program, args=[STAY_HERE, *args], **options
            )
        )

    def close(self) -> None:
        self.loop.run(self._browser.close())
        self.loop.run(self._playwright.stop())
        self.loop.close()

    @contextmanager
    def pages(self, base_url: str) -> Iterator[Callable[..., Page]]:
        """Give the block a function that opens pages, and fail if any of them found anything."""
        opened: list[Page] = []

        def open_page(**look: Any) -> Page:
            opened.append(self.loop.run(Page.open(self._browser, self.loop, base_url, **look)))
            return opened[-1]

        try:
            yield open_page
        finally:
            for page in opened:
                page.close()
        findings = [finding for page in opened for finding in page.findings]
        if findings:
            pytest.fail("The browser found:\n- " + "\n- ".join(findings), pytrace=False)
