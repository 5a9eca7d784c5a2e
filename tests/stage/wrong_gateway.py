"""A planted fault: a gateway that takes a yes of the bank for a no, once in a while."""

from itertools import count

from acquirers.gateway import AuthorizationRequest
from acquirers.outcomes import Answer, Outcome
from acquirers.sandbox.gateway import SandboxGateway

WRONG_ONCE_IN = 3


class WrongGateway(SandboxGateway):
    def __init__(self) -> None:
        super().__init__()
        self.asked = count(1)

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        outcome = super().authorize(request)
        return outcome if next(self.asked) % WRONG_ONCE_IN else Outcome(Answer.DECLINED)
