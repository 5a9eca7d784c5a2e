"""Stripe's SDK for Python, told of our service as its documentation says."""

from pathlib import Path
from typing import Any

import pytest
import stripe

from tests.stage.sdk_service import SdkService


def tell(service: SdkService, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let the package's own functions call the service with Acme's key."""
    monkeypatch.setattr(stripe, "api_base", service.url)
    monkeypatch.setattr(stripe, "api_key", service.key)
    # Its telemetry writes an id down once per user.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))


def client(service: SdkService, **options: Any) -> stripe.StripeClient:
    """Return a client of the newer style."""
    options = {"api_key": service.key, "base_addresses": {"api": service.url}, **options}
    return stripe.StripeClient(**options)
