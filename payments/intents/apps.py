from django.apps import AppConfig


class IntentsConfig(AppConfig):
    name = "payments.intents"
    verbose_name = "Payments"
