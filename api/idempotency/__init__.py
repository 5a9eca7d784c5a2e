"""`Idempotency-Key`: one key, one effect, one answer (contract 6)."""

from api.idempotency.answers import (
    answer,
    finish,
    finish_for,
    forget_old,
    kept_answer,
    replay_headers,
    save_answer,
    save_refusal,
    take_answer_back,
)
from api.idempotency.claims import (
    Earlier,
    announce,
    begin,
    current,
    earlier,
    earlier_with_secret,
    forget,
    let_go,
    take,
    withdraw,
)
from api.idempotency.kept import Replayed
from api.idempotency.refusals import (
    IdempotencyKeyInUse,
    IdempotencyKeyInvalid,
    IdempotencyKeyReused,
    NoLongerKept,
)

__all__ = [
    "Earlier",
    "IdempotencyKeyInUse",
    "IdempotencyKeyInvalid",
    "IdempotencyKeyReused",
    "NoLongerKept",
    "Replayed",
    "announce",
    "answer",
    "begin",
    "current",
    "earlier",
    "earlier_with_secret",
    "finish",
    "finish_for",
    "forget",
    "forget_old",
    "kept_answer",
    "let_go",
    "replay_headers",
    "save_answer",
    "save_refusal",
    "take",
    "take_answer_back",
    "withdraw",
]
