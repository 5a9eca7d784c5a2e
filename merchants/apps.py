from django.apps import AppConfig


class MerchantsConfig(AppConfig):
    name = "merchants"
