"""Modules of others that the service's processes load and that ask for no settings: for `warm`."""

import gc

import celery.bin.celery  # noqa: F401
import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401
import cryptography.x509  # noqa: F401
import django.contrib.admin  # noqa: F401
import django.core.management  # noqa: F401
import django.core.wsgi  # noqa: F401
import django.db.backends.postgresql.base  # noqa: F401
import django_filters.rest_framework  # noqa: F401
import docutils.parsers.rst.states  # noqa: F401
import fido2.server  # noqa: F401
import gunicorn.app.wsgiapp  # noqa: F401
import gunicorn.workers.gthread  # noqa: F401
import holidays.countries  # noqa: F401
import iso4217  # noqa: F401
import kombu.transport.redis  # noqa: F401
import pkcs11  # noqa: F401
import prometheus_client  # noqa: F401
import psycopg_pool  # noqa: F401
import requests  # noqa: F401
import rest_framework.serializers  # noqa: F401
import structlog  # noqa: F401
import yarl  # noqa: F401

gc.freeze()
