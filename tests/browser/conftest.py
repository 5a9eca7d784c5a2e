"""Tests in a browser. What a careful reader of its console would see fails them."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.browser.page import Page
from tests.browser.sandbox import Merchant, open_bank, open_service
from tests.browser.shop import open_shop
from tests.stage.web_process import WebProcess

# Debian's packages. The shell draws the same pages and no window around them, which takes a third
# of the work.
PROGRAMS = ("chromium-headless-shell", "chromium")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if not program:
        reason = "There is no Chromium: install Debian's package, or set CHROMIUM to one."
        # Where it is known to be there, tests that were left out must not look like passed ones.
        (pytest.fail if "BROWSER_REQUIRED" in os.environ else pytest.skip)(reason)
    chromium = Chromium(program)
    yield chromium
    chromium.close()


@pytest.fixture(scope="session")
def bank(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[WebProcess]:
    """The simulated bank, a process and an origin of its own."""
    log = tmp_path_factory.mktemp("bank") / "log"
    with django_db_blocker.unblock(), open_bank(log) as bank:
        yield bank


@pytest.fixture(scope="session")
def service(
    bank: WebProcess, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[WebProcess]:
    """The service that sends payers to the bank: `web` of the modules with `WITH_BANK`."""
    log = tmp_path_factory.mktemp("service") / "log"
    with django_db_blocker.unblock(), open_service(log, bank) as service:
        yield service


@pytest.fixture(scope="session")
def alone(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[WebProcess]:
    """The service without a bank: `web` of the modules that name nothing else."""
    with django_db_blocker.unblock():
        web = WebProcess(tmp_path_factory.mktemp("web") / "log")
    yield web
    web.stop()


@pytest.fixture(scope="module")
def web(
    request: pytest.FixtureRequest,
    django_db_setup: None,
    django_db_blocker: Any,
    tmp_path_factory: Any,
) -> Iterator[WebProcess]:
    """The web process that pages are opened from; it sees rows that are committed.

    A module's `APPLICATION` names another WSGI application than the service's own.
    """
    application = getattr(request.module, "APPLICATION", None)
    if application is None:
        shared = "service" if hasattr(request.module, "WITH_BANK") else "alone"
        yield request.getfixturevalue(shared)
        return
    with django_db_blocker.unblock():
        web = WebProcess(tmp_path_factory.mktemp("web") / "log", application)
    yield web
    web.stop()


@pytest.fixture
def acme(service: WebProcess, shop: str) -> Merchant:
    """A shop's server, whose payers have to go to the bank."""
    return Merchant(service.url, shop)


@pytest.fixture
def open_page(chromium: Chromium, web: WebProcess) -> Iterator[Callable[..., Page]]:
    """Open a page in a fresh context: `open_page(width=390, theme="dark", scripts=False)`."""
    with chromium.pages(web.url) as open_page:
        yield open_page


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """A page of a desktop, light, with scripts on."""
    return open_page()


@pytest.fixture(scope="session")
def shop() -> Iterator[str]:
    """The address that payers come back to, at a shop on this machine."""
    with open_shop() as address:
        yield address
