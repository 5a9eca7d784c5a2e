"""Parts of dependencies that any version may change, and that the service overrides or relies on.

Before an upper bound in `pyproject.toml` is raised, these tests pass with the version above it.
"""

import inspect
import re
from pkgutil import resolve_name

import pytest

from devstack.state import ROOT

# By distribution: functions, each with the names of its parameters.
CALLED = {
    "gunicorn": {
        "gunicorn.http.errors:InvalidHeader.__init__": "self hdr req",
        "gunicorn.http.message:Request.force_close": "self",
        "gunicorn.util:write_nonblock": "sock data chunked",
        "gunicorn.workers.gthread:TConn.__init__": "self cfg sock client server",
        "gunicorn.workers.gthread:TConn.close": "self graceful",
        "gunicorn.workers.gthread:ThreadWorker._cap_keepalive": "self deadline",
        "gunicorn.workers.gthread:ThreadWorker.accept": "self listener",
        "gunicorn.workers.gthread:ThreadWorker.enqueue_req": "self conn",
        "gunicorn.workers.gthread:ThreadWorker.get_thread_pool": "self",
        "gunicorn.workers.gthread:ThreadWorker.handle": "self conn",
        "gunicorn.workers.gthread:ThreadWorker.handle_error": "self req client addr exc",
        "gunicorn.workers.gthread:ThreadWorker.handle_request": "self req conn",
        "gunicorn.workers.gthread:ThreadWorker.load_wsgi": "self",
        "gunicorn.workers.gthread:ThreadWorker.murder_pending": "self",
        "gunicorn.workers.gthread:ThreadWorker.on_pending_socket_readable": "self conn client",
        "gunicorn.workers.gthread:ThreadWorker.set_accept_enabled": "self enabled",
    },
    "aiohttp": {
        "aiohttp.client_proto:ResponseHandler.connection_made": "self transport",
        "aiohttp.client_proto:ResponseHandler.data_received": "self data",
        "aiohttp.client_proto:ResponseHandler.feed_data": "self data size",
        "aiohttp.client_proto:ResponseHandler.set_response_params": (
            "self timer skip_payload read_until_eof auto_decompress read_timeout read_bufsize"
            " timeout_ceil_threshold max_line_size max_field_size max_headers"
        ),
        "aiohttp.client_reqrep:ClientRequest.send": "self conn",
        "aiohttp.client_reqrep:ClientRequest.write_bytes": "self writer conn content_length",
        "aiohttp.connector:BaseConnector._get": "self key traces",
        "aiohttp.connector:BaseConnector._release": "self key protocol should_close",
        "aiohttp.connector:TCPConnector._wrap_create_connection": (
            "self args addr_infos req timeout client_error kwargs"
        ),
    },
    "prometheus-client": {
        "prometheus_client.multiprocess:MultiProcessCollector.__init__": "self registry path",
        "prometheus_client.multiprocess:mark_process_dead": "pid path",
        "prometheus_client.values:MultiProcessValue": "process_identifier",
    },
    "psycopg": {
        "psycopg.adapt:Transformer.load_rows": "self row0 row1 make_row",
        "psycopg.adapt:Transformer.set_pgresult": "self result set_loaders format",
        "psycopg.errors:error_from_result": "result encoding",
        "psycopg.pq:PGconn.exec_": "self command",
        "psycopg.pq:PGconn.exec_params": (
            "self command param_values param_types param_formats result_format"
        ),
        "psycopg.pq:PGconn.exec_prepared": "self name param_values param_formats result_format",
        "psycopg.pq:PGconn.prepare": "self name command param_types",
    },
    "redis": {
        "redis.connection:AbstractConnection._get_socket": "self",
        "redis.connection:AbstractConnection.connect": "self",
        "redis.connection:AbstractConnection.send_packed_command": "self command check_health",
        "redis.connection:Connection._connect": "self",
        "redis.connection:SSLConnection._connect": "self",
    },
    "whitenoise": {
        "whitenoise.middleware:WhiteNoiseMiddleware.__init__": "self get_response settings",
        "whitenoise.storage:CompressedManifestStaticFilesStorage.hash_key": "self name",
        "whitenoise.storage:CompressedManifestStaticFilesStorage.stored_name": "self name",
    },
    "django-allauth": {
        "allauth.account.forms:ChangePasswordForm.clean_oldpassword": "self",
        "allauth.account.forms:ResetPasswordForm.clean_email": "self",
        "allauth.account.utils:url_str_to_user_pk": "pk_str",
        "allauth.mfa.base.forms:AuthenticateForm.clean_code": "self",
        "allauth.mfa.base.forms:ReauthenticateForm.clean_code": "self",
        "allauth.mfa.webauthn.forms:AuthenticateWebAuthnForm.clean_credential": "self",
        "allauth.mfa.webauthn.forms:LoginWebAuthnForm.clean_credential": "self",
        "allauth.mfa.webauthn.forms:ReauthenticateWebAuthnForm.clean_credential": "self",
        "allauth.mfa.webauthn.internal.auth:parse_authentication_response": "response",
        "allauth.mfa.webauthn.internal.flows:did_use_passwordless_login": "request user",
    },
}
# Classes and modules, each with names that stand in its source.
NAMED = {
    "gunicorn": {
        "gunicorn.http.message:Request": "_expected_100_continue",
        "gunicorn.workers.gthread:TConn": "parser timeout",
        "gunicorn.workers.gthread:ThreadWorker": "nr_conns pending_conns poller",
    },
    "aiohttp": {
        "aiohttp.client_proto:ResponseHandler": "_payload",
        "aiohttp.connector:BaseConnector": "_conns _factory _loop",
    },
    "prometheus-client": {
        "prometheus_client.values": "ValueClass",
        "prometheus_client.values:MultiProcessValue": "PROMETHEUS_MULTIPROC_DIR",
    },
    "psycopg": {"psycopg._connection_base:BaseConnection": "prepare_threshold"},
    "redis": {"redis.connection:Connection": "host port"},
    "whitenoise": {
        "whitenoise.middleware:WhiteNoiseMiddleware": "static_prefix",
        "django.contrib.staticfiles.storage:HashedFilesMixin": "patterns hashed_files",
    },
    "django-allauth": {
        "allauth.account.forms:ResetPasswordForm": "users",
        "allauth.account.internal.stagekit": "LOGIN_SESSION_KEY",
        "allauth.account.views:PasswordResetFromKeyView": "reset_user",
    },
}


def changed(distribution: str) -> list[str]:
    """Return what is gone or has other parameters."""
    called = {path: _parameters(path) for path in CALLED[distribution]}
    other = [f"{path}: {now}" for path, now in called.items() if now != CALLED[distribution][path]]
    sources = {path: _source(path) for path in NAMED[distribution]}
    gone = [
        f"{path} has no {name}"
        for path, names in NAMED[distribution].items()
        for name in names.split()
        if not re.search(rf"\b{name}\b", sources[path])
    ]
    return other + gone


def _parameters(path: str) -> str:
    try:
        return " ".join(inspect.signature(resolve_name(path)).parameters)
    except AttributeError:
        return "gone"


def _source(path: str) -> str:
    found = resolve_name(path)
    if not inspect.isclass(found):
        return inspect.getsource(found)
    # Some of the standard library are written in C, other ones in each version of Python.
    written = [one for one in found.__mro__ if one.__module__ not in ("builtins", "typing")]
    return "".join(map(inspect.getsource, written))


@pytest.mark.parametrize("distribution", CALLED)
def test_what_we_override_is_there_as_we_know_it(distribution: str) -> None:
    assert changed(distribution) == []


@pytest.mark.parametrize("distribution", CALLED)
def test_its_upper_bound_names_this_guard(distribution: str) -> None:
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    [line] = [line for line in lines if re.match(rf' +"{distribution}(\[[\w,]+\])?>=', line)]

    assert re.search(r'<[\d.]+",', line), line
    assert "tests/config/test_private_parts.py" in line


def test_a_part_that_is_gone_or_has_changed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = resolve_name("gunicorn.workers.gthread:ThreadWorker")
    monkeypatch.setattr(worker, "handle", lambda self, conn, more: None)
    monkeypatch.delattr(worker, "_cap_keepalive")
    monkeypatch.setitem(NAMED["gunicorn"], "gunicorn.workers.gthread:TConn", "no_such_name")

    assert changed("gunicorn") == [
        "gunicorn.workers.gthread:ThreadWorker._cap_keepalive: gone",
        "gunicorn.workers.gthread:ThreadWorker.handle: self conn more",
        "gunicorn.workers.gthread:TConn has no no_such_name",
    ]
