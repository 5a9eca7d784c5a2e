"""Requests as they are: gunicorn believes nobody about them, and lets none of two meanings through.

gunicorn can take from a header, or from a line before the request, where the application lies,
how it was asked, and by whom; from the loopback and from a unix socket it does so by default.
Here `BEHIND_PROXY` decides that, and nothing else does.
"""

from typing import Any

from gunicorn.config import Config

# As gunicorn's configuration spells them (config/gunicorn.py takes them over).
NOBODY_BELIEVED: dict[str, Any] = {
    "forwarded_allow_ips": "",
    # Both for peers on a unix socket, whom gunicorn believes whatever addresses it is given.
    "forwarder_headers": "",
    "secure_scheme_headers": {},
    "header_map": "drop",
    "proxy_protocol": "off",
    "proxy_allow_ips": "",
    "protocol": "http",
    "uwsgi_allow_ips": "",
    "http2_cleartext": "off",
}


def require_nobody_believed(configured: Config) -> None:
    """Refuse a start whose command line, or GUNICORN_CMD_ARGS, overrides `NOBODY_BELIEVED`.

    :raises RuntimeError: gunicorn's way to stop a start with a sentence.
    """
    ours = Config()
    for name, value in NOBODY_BELIEVED.items():
        ours.set(name, value)
        if configured.settings[name].get() != ours.settings[name].get():
            raise RuntimeError(
                f"Start gunicorn without the option for {name}, and set BEHIND_PROXY: it alone"
                " decides which headers of a proxy are believed."
            )
