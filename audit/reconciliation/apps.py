from django.apps import AppConfig


class ReconciliationConfig(AppConfig):
    name = "audit.reconciliation"
