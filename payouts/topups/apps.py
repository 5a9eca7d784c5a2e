from django.apps import AppConfig


class TopupsConfig(AppConfig):
    name = "payouts.topups"
