from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.apps import AppConfig, apps
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import connections

from core.names import email_key


class MerchantsConfig(AppConfig):
    name = "merchants"

    def ready(self) -> None:
        from django.conf import settings

        from core.keyring import needs, renewals
        from events import transitions, types
        from merchants import audit_log, keys, second_factors, sessions, terms
        from merchants.states import AGGREGATE, MERCHANTS

        register(people_of_one_address, Tags.database)
        transitions.register(MERCHANTS)
        types.register(AGGREGATE)
        terms.register(*terms.TERMS)
        lives = timedelta(seconds=settings.SESSION_SECONDS)
        needs.register(sessions.PURPOSE, needs.for_so_long("sessions", lives))
        needs.register(keys.PURPOSE, keys.needed)
        needs.register(audit_log.PURPOSE, audit_log.needed)
        needs.register(second_factors.PURPOSE, second_factors.needed)
        renewals.register("second factors", second_factors.reseal)
        # Longer than any link that works: those of payment pages live 30 days at most.
        needs.register("link", needs.for_so_long("links", timedelta(days=31)))


def people_of_one_address(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_options: Any
) -> list[CheckMessage]:
    """List people whose e-mail addresses have one key: made before the database refused that.

    `manage.py check --database default` asks it. No accounts are merged: a person decides.
    """
    user = apps.get_model("merchants", "User")
    table = user._meta.db_table
    if "default" not in (databases or ()):
        return []
    if table not in connections["default"].introspection.table_names():
        return []  # Nothing is migrated yet.
    people = defaultdict(list)
    for pk, email in user._default_manager.order_by("pk").values_list("pk", "email"):
        people[email_key(email)].append(str(pk))
    hint = "They sign in as one name. Decide who stays, and deactivate the others."
    return [
        Warning(f"People {', '.join(ids)} have one e-mail address.", hint, id="merchants.W001")
        for ids in people.values()
        if len(ids) > 1
    ]
