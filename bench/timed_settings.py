"""The service's settings, with clocks on its transactions and on what plan takes of them."""

from config.settings import *  # noqa: F403

DATABASES["default"]["ENGINE"] = "bench.timed_database"  # noqa: F405
INSTALLED_APPS = [*INSTALLED_APPS, "bench.timed_database"]  # noqa: F405
