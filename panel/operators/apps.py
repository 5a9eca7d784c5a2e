from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class DeskConfig(AppConfig):
    """The operators' own room: their commands, and their pages."""

    name = "panel.operators"


class OperatorsConfig(AdminConfig):
    """Django's admin, with our site in the place of its own."""

    default_site = "panel.operators.site.OperatorsSite"
