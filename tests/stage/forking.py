"""A process that has loaded what Celery's workers need, and forks them: for tests.stage.forks.

Each line of its standard input, a JSON list of a log's path and Celery's arguments, asks for a
worker; the answer is its process id.
"""

import json
import os
import signal
import sys

from celery.__main__ import main as celery

from config.celery import app


def main() -> None:
    app.loader.import_default_modules()
    # It waits for no worker's end: the system forgets who has ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if worker := os.fork():
            print(worker, flush=True)  # noqa: T201
        else:
            become_a_worker(*json.loads(line))


def become_a_worker(log: str, *arguments: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgrp()  # All that it starts can be ended together.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for output in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), output)
    sys.argv = ["celery", *arguments]
    sys.exit(celery())


if __name__ == "__main__":
    main()
