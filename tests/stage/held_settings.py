"""The service with addresses that hold a thread, for tests of the web server's queue."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "tests.stage.held_urls"
