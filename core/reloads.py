"""SIGHUP to a process of the service: it does nothing, and says so in the log.

A process that began again by itself would mix new code and a new key ring with the environment of
its start.
"""

import signal

import structlog

log = structlog.get_logger(__name__)


def refuse(*_signal: object) -> None:
    """Take SIGHUP, and do nothing but say so."""
    log.warning("reload_refused", advice="Nothing was reloaded. Restart the process instead.")


def refuse_from_now_on() -> None:
    """Answer SIGHUP so in this process."""
    signal.signal(signal.SIGHUP, refuse)
