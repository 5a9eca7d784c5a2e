from django.apps import AppConfig


class TestbankConfig(AppConfig):
    name = "testbank"
