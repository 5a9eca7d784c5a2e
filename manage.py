#!/usr/bin/env python3
"""Run the service's management commands."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as problem:
        # The sentence that fixes it, and no traceback around it.
        sys.exit(str(problem))
