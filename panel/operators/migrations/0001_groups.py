"""The groups of operators: each with what its members do, and all may read."""

from typing import Any

from django.contrib.auth.management import create_permissions
from django.db import migrations

# The rooms whose tables all groups read.
READ = (
    "acquirers",
    "cases",
    "customers",
    "daily",
    "disputes",
    "events",
    "installments",
    "intents",
    "ledger",
    "merchants",
    "notices",
    "payouts",
    "reconciliation",
    "refunds",
    "risk",
    "topups",
    "transfers",
    "webhooks",
)
GROUPS: dict[str, tuple[str, ...]] = {
    "auditors": (),
    "accounts": ("merchants.change_merchant_terms", "installments.import_bins"),
    "people": ("merchants.manage_people",),
    "operators": ("merchants.manage_operators",),
    "banks": ("acquirers.manage_terminals",),
    "cases": ("cases.resolve_case",),
    "risk": ("intents.judge_fraud", "risk.manage_lists"),
    "money": (
        "ledger.write_off",
        "disputes.add_dispute",
        "disputes.change_dispute",
        "payouts.add_payout",
        "payouts.change_payout",
        "topups.add_topup",
        "topups.change_topup",
        "topups.decide_transfer",
        "ledger.change_holidaychange",
    ),
}


def make_groups(apps: Any, schema_editor: Any) -> None:
    """Make the groups; permissions are made after all migrations, so they are made here first."""
    alias = schema_editor.connection.alias
    for label in READ:
        config = apps.get_app_config(label)
        config.models_module = True
        create_permissions(config, apps=apps, verbosity=0, using=alias)
        config.models_module = None
    permissions = apps.get_model("auth", "Permission").objects.using(alias)
    reading = permissions.filter(content_type__app_label__in=READ, codename__startswith="view_")
    for name, acts in GROUPS.items():
        group, _is_new = (
            apps.get_model("auth", "Group").objects.using(alias).get_or_create(name=name)
        )
        group.permissions.add(*reading)
        for act in acts:
            label, _, codename = act.partition(".")
            group.permissions.add(permissions.get(content_type__app_label=label, codename=codename))


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("acquirers", "0002_exchanges"),
        *((label, "0001_initial") for label in READ),
    ]
    operations = [migrations.RunPython(make_groups, migrations.RunPython.noop)]
