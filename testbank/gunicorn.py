"""How gunicorn runs the test bank: one process, a thread for each request at the same time."""

import os

from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

from core import reloads


def on_starting(server: Arbiter) -> None:
    """Let SIGHUP start no worker again; gunicorn calls this by name."""
    server.handle_hup = reloads.refuse


def post_worker_init(_worker: Worker) -> None:
    """Let SIGHUP end no worker; gunicorn calls this by name."""
    reloads.refuse_from_now_on()


bind = os.environ.get("BANK_BIND", "127.0.0.1:8100")
workers = 1
# A silent card holds a thread for seconds. Two web processes ask 96 times at once, each Celery
# process of the sweeper 8 times, and payers look at pages.
threads = int(os.environ.get("BANK_THREADS", "128"))
graceful_timeout = 2
# The default socket lies in the home directory, where two instances would share it.
control_socket_disable = True
