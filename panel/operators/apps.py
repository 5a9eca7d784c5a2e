from django.contrib.admin.apps import AdminConfig


class OperatorsConfig(AdminConfig):
    """Django's admin, with our site in the place of its own."""

    default_site = "panel.operators.site.OperatorsSite"
