"""The banks: adapters, days, files, time-outs, and the test bank of a sandbox."""

import re
from zoneinfo import available_timezones

import environ

from config.settings.installation import LIVEMODE, env, required

# The adapters by kind of acquirer, as dotted paths: `kind=path`, separated by commas, beside those
# that the service has.
_adapters = {
    "garanti": "acquirers.garanti.gateway.GarantiGateway",
    "nestpay": "acquirers.nestpay.gateway.NestPayGateway",
}
if not LIVEMODE:
    _adapters["sandbox"] = "acquirers.sandbox.gateway.SandboxGateway"
ACQUIRERS: dict[str, str] = {**_adapters, **env.dict("ACQUIRERS", default={})}
# An outcome that is unknown for so long, in the movable clock, becomes a case for a person.
CASE_AFTER_SECONDS = env.float("CASE_AFTER_SECONDS", default=3600.0)
# The bank that pays out, as the dotted path of its adapter: it need not be the acquirer's. A live
# installation without one answers 503 to a payout or a topup.
_transfers = "" if LIVEMODE else "acquirers.sandbox.transfers.SandboxTransfers"
TRANSFERS = env.str("TRANSFERS", default=_transfers)
# The zone of the acquirer's days: its booking days, and those of the daily runs.
BANK_TIMEZONE = env.str("BANK_TIMEZONE", default="Europe/Istanbul")
if BANK_TIMEZONE not in available_timezones():
    raise environ.ImproperlyConfigured(
        "Set BANK_TIMEZONE to a time zone's name, such as Europe/Istanbul."
    )
# By the bank's number of a merchant in its settlement file, the merchant's id; `*` for a number
# that stands for all of them. Numbers that are not listed are ids.
BANK_MERCHANTS: dict[str, str] = env.dict("BANK_MERCHANTS", default={})
# The function that writes the bank's settlement file of a day, as a dotted path. Without one an
# operator runs `manage.py reconcile FILE` each day.
_files = "" if LIVEMODE else "testbank.settlement_files.write"
SETTLEMENT_FILES = env.str("SETTLEMENT_FILES", default=_files)
_of_a_sandbox = ("acquirers.sandbox", "testbank")
_chosen = {"TRANSFERS": TRANSFERS, "SETTLEMENT_FILES": SETTLEMENT_FILES}
_chosen |= {f"ACQUIRERS {kind}": path for kind, path in ACQUIRERS.items()}
for _name, _path in _chosen.items():
    if LIVEMODE and _path.strip().split(":")[0].startswith(_of_a_sandbox):
        raise environ.ImproperlyConfigured(
            f"Set {_name} to the adapter of a real bank: the simulated one moves no money, and"
            " belongs to a sandbox."
        )
# How long rows of daily runs are kept.
DAILY_RUN_DAYS = env.int("DAILY_RUN_DAYS", default=400)
# How long a payout waits before it is sent, in the movable clock: until then it can be canceled.
PAYOUT_DELAY_SECONDS = env.float("PAYOUT_DELAY_SECONDS", default=60.0)
# The rules about risk that differ from the defaults (docs/how-to/risk.md): `rule=deed`,
# `rule=deed/n` or `rule=deed/n/seconds`, separated by commas; of amounts
# `amount:try=review/500000`.
RISK_RULES: dict[str, str] = env.dict("RISK_RULES", default={})
ACQUIRER_TIMEOUT_SECONDS = env.float("ACQUIRER_TIMEOUT_SECONDS", default=30.0 if LIVEMODE else 5.0)
# Calls to banks go by it, for banks know us by address; empty: they go directly.
ACQUIRER_PROXY_URL = env.str("ACQUIRER_PROXY_URL", default="")
if ACQUIRER_PROXY_URL and not re.fullmatch(r"https?://[^/\s]+/?", ACQUIRER_PROXY_URL):
    raise environ.ImproperlyConfigured(
        "Set ACQUIRER_PROXY_URL to a proxy's address, such as http://proxy.internal:3128."
    )
TESTBANK_URL = (
    ""
    if LIVEMODE
    else required("TESTBANK_URL", "the test bank's address, such as http://127.0.0.1:8100")
)
# The bank's address for payers' browsers; the gateway may reach the bank at another one.
TESTBANK_PUBLIC_URL = (
    "" if LIVEMODE else (env.str("TESTBANK_PUBLIC_URL", default="") or TESTBANK_URL).rstrip("/")
)
if not LIVEMODE and not TESTBANK_PUBLIC_URL.startswith(("https://", "http://")):
    raise environ.ImproperlyConfigured(
        "Set TESTBANK_PUBLIC_URL to an https:// or http:// address that payers' browsers reach."
    )
# Signs what the bank lets a payer's browser carry to us; a live installation has no such bank.
TESTBANK_SIGNING_KEY = (
    None
    if LIVEMODE
    else required(
        "TESTBANK_SIGNING_KEY", "50 or more random characters, the test bank's and ours alike"
    )
)
TESTBANK_SILENCE_SECONDS = env.float("TESTBANK_SILENCE_SECONDS", default=8.0)
