#!/usr/bin/env python3
"""Run the service's management commands."""

import gc
import os
import sys

from core import stop_signals

if __name__ == "__main__":
    with stop_signals.ending_in_one_sentence():
        # Within the block, because they take a moment to load.
        import django
        import psycopg
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import ManagementUtility, execute_from_command_line
        from django.db import OperationalError

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        try:
            if sys.argv[1:2] == ["version"]:
                # Django's own shows Django's version, as --version still does.
                django.setup()
                ManagementUtility().fetch_command("version").run_from_argv(sys.argv)
            else:
                execute_from_command_line(sys.argv)
        except ImproperlyConfigured as problem:
            # The sentence that fixes it, and no traceback around it.
            sys.exit(str(problem))
        except (OperationalError, psycopg.OperationalError) as problem:
            # No fault of ours either: the database is away. Only now there are settings to read.
            from config import deployment

            sentence = deployment.end_of_command(problem)
            if sentence is None:
                raise
            sys.exit(sentence)
        finally:
            # Before its end Python would look for cycles in all that was loaded, for half a second.
            gc.freeze()
