"""The collector that traces go to: none, unless the operator names one (core.traces)."""

import re
from importlib.util import find_spec
from urllib.parse import unquote

import environ

from config.settings.installation import env

_SAFE = r"https://[\w.-]+(?::\d+)?"
_HERE = r"http://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?"
_ALL_SIGNALS = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="").strip().rstrip("/")
_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", default="").strip() or (
    _ALL_SIGNALS and f"{_ALL_SIGNALS}/v1/traces"
)
if _ENDPOINT and not re.fullmatch(rf"(?:{_SAFE}|{_HERE})(?:/[\w./-]*)?", _ENDPOINT):
    raise environ.ImproperlyConfigured(
        "Set OTEL_EXPORTER_OTLP_ENDPOINT to a collector's address, such as https://otel.example:4318,"
        " or leave it out; only a collector on this host may have http://."
    )
if _ENDPOINT and find_spec("opentelemetry") is None:
    raise environ.ImproperlyConfigured(
        "OTEL_EXPORTER_OTLP_ENDPOINT is set, and its library is missing: install"
        " requirements-otel.txt, or leave the variable out."
    )


def _headers() -> dict[str, str]:
    """Return the headers of `name=value,name=value`, whose values are percent-encoded."""
    found: dict[str, str] = {}
    for pair in filter(str.strip, env.str("OTEL_EXPORTER_OTLP_HEADERS", default="").split(",")):
        name, _, encoded = (part.strip() for part in pair.partition("="))
        value = unquote(encoded)
        if not re.fullmatch(r"[\w-]+", name, re.ASCII) or not re.fullmatch(r"[ -~]+", value):
            raise environ.ImproperlyConfigured(
                "Set OTEL_EXPORTER_OTLP_HEADERS to headers such as authorization=Bearer%20TOKEN,"
                " with commas between them."
            )
        found[name] = value
    return found


def _ratio() -> float:
    """Return the part of traces that is sent, 0 to 1."""
    given = env.str("OTEL_TRACES_SAMPLER_ARG", default="").strip() or "1"
    if not re.fullmatch(r"0(\.\d+)?|1(\.0+)?", given, re.ASCII):
        raise environ.ImproperlyConfigured(
            "Set OTEL_TRACES_SAMPLER_ARG to the part of traces that is sent, from 0 to 1."
        )
    return float(given)


# Terms of `core.traces.sender.SpanSender`; None switches traces off.
TRACES = (
    {
        "endpoint": _ENDPOINT,
        "headers": _headers(),
        "ratio": _ratio(),
        "service": env.str("OTEL_SERVICE_NAME", default="").strip(),
    }
    if _ENDPOINT
    else None
)
