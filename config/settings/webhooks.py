"""Deliveries of webhooks: deadlines, leases, and addresses that they may go to."""

import environ

from config.settings.installation import LIVEMODE, env
from core.urls import is_host_and_port

# One wall-clock deadline over DNS, connect, TLS, request and response.
WEBHOOK_TIMEOUT_SECONDS = env.float("WEBHOOK_TIMEOUT_SECONDS", default=10.0)
# How long a delivery whose worker died is kept from the others; above the deadline.
WEBHOOK_LEASE_SECONDS = env.float("WEBHOOK_LEASE_SECONDS", default=45.0)
if WEBHOOK_LEASE_SECONDS < 2 * WEBHOOK_TIMEOUT_SECONDS:
    raise environ.ImproperlyConfigured(
        "Set WEBHOOK_LEASE_SECONDS to twice WEBHOOK_TIMEOUT_SECONDS or more."
    )
# Deliveries in flight per process.
WEBHOOK_SLOTS = env.int("WEBHOOK_SLOTS", default=256)
# Ports that an endpoint's address may name.
_ports = [port.strip() for port in env.list("WEBHOOK_PORTS", default=["443"])]
if not all(port.isascii() and port.isdecimal() and 0 < int(port) < 65536 for port in _ports):
    raise environ.ImproperlyConfigured(
        "Set WEBHOOK_PORTS to port numbers, separated by commas, such as 443,8443."
    )
WEBHOOK_PORTS = [int(port) for port in _ports]
# `host:port` pairs of a developer's own machine, exempt from every rule about addresses.
WEBHOOK_DEV_HOSTS = [pair.strip().lower() for pair in env.list("WEBHOOK_DEV_HOSTS", default=[])]
if not all(map(is_host_and_port, WEBHOOK_DEV_HOSTS)):
    raise environ.ImproperlyConfigured(
        "Set WEBHOOK_DEV_HOSTS to host:port pairs, separated by commas, such as localhost:3000."
    )
if LIVEMODE and WEBHOOK_DEV_HOSTS:
    raise environ.ImproperlyConfigured("Unset WEBHOOK_DEV_HOSTS: only a sandbox may have it.")
DELIVERY_DAYS = env.int("DELIVERY_DAYS", default=30)
