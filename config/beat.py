"""The work that beat begins again and again, with the seconds in between.

Each is a look at an index that is empty when nothing is due. A run that no worker began before the
next one would be too late: it expires. Where no worker reads, beat waits (`config.scheduler`).
"""

from typing import Any

EVERY = {
    "webhooks.tasks.drain": 1.0,
    "payments.intents.tasks.resolve_unknown": 2.0,
    "acquirers.notices.tasks.take_in": 2.0,
    "acquirers.transfers.tasks.take_in": 2.0,
    "ledger.tasks.settle_due": 2.0,
    "payments.refunds.tasks.send_waiting": 3.0,
    "payments.disputes.tasks.close_overdue": 5.0,
    "payments.checkout.tasks.expire_due": 5.0,
    "payouts.tasks.pay_out_daily": 5.0,
    "payouts.topups.tasks.tell_bank": 1.0,
    "payments.charging.tasks.watch_tested": 5.0,
    "payments.charging.tasks.watch_cases": 5.0,
    "merchants.tasks.send_owed_mails": 5.0,
    "ledger.tasks.advance_checkpoints": 60.0,
    "payouts.statements.tasks.close_months": 60.0,
    "payments.charging.tasks.destroy_cards": 60.0,
    "payments.charging.tasks.count_days": 60.0,
    "payments.checkout.tasks.destroy_held_cards": 60.0,
    "audit.daily.tasks.run_due": 60.0,
    "merchants.tasks.write_audit_tallies": 60.0,
    "api.tasks.forget_idempotency_keys": 600.0,
    "webhooks.tasks.forget_old": 600.0,
    "api.tasks.forget_request_logs": 3600.0,
    "merchants.tasks.forget_sessions": 3600.0,
    "audit.daily.tasks.forget_old": 3600.0,
    "audit.daily.tasks.digest_days": 600.0,
    "merchants.tasks.watch_unused_accounts": 3600.0,
    "merchants.tasks.log_audit_heads": 86_400.0,
}
# A run of these lasts for longer than the time in between. The next one begins at once, by a
# message that waited meanwhile.
NEVER_LATE = {"webhooks.tasks.drain"}
SCHEDULE: dict[str, dict[str, Any]] = {
    task: {
        "task": task,
        "schedule": seconds,
        "options": {"expires": None if task in NEVER_LATE else seconds},
    }
    for task, seconds in EVERY.items()
}
