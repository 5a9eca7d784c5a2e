from django.apps import AppConfig


class ChargingConfig(AppConfig):
    name = "payments.charging"
