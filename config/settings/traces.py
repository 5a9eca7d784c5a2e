"""The collector that traces go to: none, unless the operator names one (core.traces)."""

import re
from importlib.util import find_spec
from urllib.parse import unquote

import environ

from config.settings.installation import env

_SAFE = r"https://[\w.-]+(?::\d+)?"
_HERE = r"http://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?"
_PROTOCOL = "http/protobuf"
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
    of_all = env.str("OTEL_EXPORTER_OTLP_HEADERS", default="").strip()
    of_traces = env.str("OTEL_EXPORTER_OTLP_TRACES_HEADERS", default="").strip()
    if of_all and of_traces:
        # The library reads the environment too: it would add the first to a second from a file.
        raise environ.ImproperlyConfigured(
            "Set OTEL_EXPORTER_OTLP_HEADERS or OTEL_EXPORTER_OTLP_TRACES_HEADERS, and not both."
        )
    found: dict[str, str] = {}
    for pair in filter(str.strip, (of_traces or of_all).split(",")):
        name, _, encoded = (part.strip() for part in pair.partition("="))
        value = unquote(encoded)
        if not re.fullmatch(r"[\w-]+", name, re.ASCII) or not re.fullmatch(r"[ -~]+", value):
            raise environ.ImproperlyConfigured(
                f"Set OTEL_EXPORTER_OTLP_{'TRACES_' if of_traces else ''}HEADERS to headers such as"
                " authorization=Bearer%20TOKEN, with commas between them."
            )
        found[name] = value
    return found


def _require_http() -> None:
    """:raises ImproperlyConfigured: a protocol is named that the sender does not speak."""
    of_all = env.str("OTEL_EXPORTER_OTLP_PROTOCOL", default="").strip()
    of_traces = env.str("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", default="").strip()
    if (of_traces or of_all or _PROTOCOL) != _PROTOCOL:
        raise environ.ImproperlyConfigured(
            f"Set OTEL_EXPORTER_OTLP_{'TRACES_' if of_traces else ''}PROTOCOL to {_PROTOCOL}, the"
            " only one that traces are sent by, or leave it out."
        )


def _ratio() -> float:
    """Return the part of traces that is sent, 0 to 1."""
    given = env.str("OTEL_TRACES_SAMPLER_ARG", default="").strip() or "1"
    if not re.fullmatch(r"0(\.\d+)?|1(\.0+)?", given, re.ASCII):
        raise environ.ImproperlyConfigured(
            "Set OTEL_TRACES_SAMPLER_ARG to the part of traces that is sent, from 0 to 1."
        )
    return float(given)


if _ENDPOINT:
    _require_http()

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
