"""The web process for a whole run of tests: it tells nobody that it lives.

Tests that change the key share its database, and are not about its key ring.
"""

from config.wsgi import application
from core import heartbeat

__all__ = ["application"]

heartbeat.end()
