"""The web process's entry point."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from acquirers import require_adapters
from config import health
from core import connections
from core.http import with_whole_bodies, with_whole_paths
from core.memory import keep_what_is_loaded
from core.postgresql.waits import require_bounded_waits
from core.release import require_borne_schema
from panel.static_files import require_collected
from vault import peers
from vault.checks import require_keys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = with_whole_paths(with_whole_bodies(get_wsgi_application()))
# Now, so that a process that must not run stops before it takes a request.
require_bounded_waits()
require_borne_schema()
require_keys()
require_adapters()
require_collected()
peers.join("web")  # config/gunicorn.py goes on with it in each process that is forked.
# Nothing is asked from here on before the process has forked.
connections.share()
health.prepare()
# Loads every view: before the processes fork, and not with somebody's first request.
_ = get_resolver().url_patterns
keep_what_is_loaded()
