from django.apps import AppConfig


class SignInConfig(AppConfig):
    """The pages by which people sign in, and look after their own account."""

    name = "panel.account"
    label = "account_pages"  # `account` is django-allauth's.
