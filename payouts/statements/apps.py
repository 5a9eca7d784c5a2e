from django.apps import AppConfig


class StatementsConfig(AppConfig):
    name = "payouts.statements"
