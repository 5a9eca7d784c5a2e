"""The test bank's entry point: `gunicorn -c testbank/gunicorn.py testbank.wsgi`."""

import os

from core import connections
from core.postgresql.waits import require_bounded_waits
from testbank.handler import open_bank

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = open_bank()
require_bounded_waits()
connections.share()
