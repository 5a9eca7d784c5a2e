"""The old bank behind a live installation of the tests, which takes no sandbox's adapter."""

from acquirers import wire
from tests.stage.oldbank.gateway import OldBankGateway

ADAPTER = f"{__name__}.LiveOldBankGateway"


class LiveOldBankGateway(OldBankGateway):
    """The same way to the same bank; only its refusal of a live installation is left out."""

    def __init__(self) -> None:
        self.session = wire.new_session()
