from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core.checks import CheckMessage, Tags, register


class DeskConfig(AppConfig):
    """The operators' own room: their commands, and their pages."""

    name = "panel.operators"


class OperatorsConfig(SimpleAdminConfig):
    """Django's admin, with our site in the place of its own.

    `config.urls` loads the pages of the models: a process that serves no pages starts without them.
    """

    default_site = "panel.operators.site.OperatorsSite"

    def ready(self) -> None:
        register(check_dependencies, Tags.admin)
        register(whole_site, Tags.admin)


def whole_site(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """Return what Django finds wrong with the admin, which is loaded for it."""
    admin.autodiscover()
    return check_admin_app(app_configs, **options)
