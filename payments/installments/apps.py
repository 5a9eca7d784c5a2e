from django.apps import AppConfig


class InstallmentsConfig(AppConfig):
    name = "payments.installments"
