"""When nobody can be reached it is our own network, and nobody's attempts are spent on it."""

from dataclasses import dataclass

from tests.stage.deliveries import delivery, real_now
from webhooks.delivery.messages import Answer
from webhooks.delivery.outage import PAUSE_MAX_SECONDS, OutageDetector, Reachability

HOLD_SECONDS = 5.0


@dataclass
class Stage:
    """A judge with a clock that the test moves, and endpoints of two to a merchant."""

    seconds: float = 1000.0

    def __post_init__(self) -> None:
        self.faults = OutageDetector(hold_seconds=HOLD_SECONDS, now=lambda: self.seconds)

    def answer(self, endpoint: int, error: str | None, status: int | None = None) -> Answer:
        answer = self.of(merchant=endpoint // 2, endpoint=endpoint, error=error, status=status)
        self.faults.take(answer)
        return answer

    def of(
        self,
        *,
        merchant: int,
        endpoint: int,
        host: str | None = None,
        error: str | None = "connection_error",
        status: int | None = None,
    ) -> Answer:
        ids = {"endpoint_id": f"we_{endpoint}", "merchant_id": f"mer_{merchant}"}
        claimed = delivery(f"https://{host or f'host{endpoint}.example'}/", **ids)
        was_reached = error not in ("dns_error", "connection_error")
        status = status or (None if error else 200)
        return Answer(claimed, status, None, error, real_now(), 10, was_reached)

    def unreached(self, *endpoints: int) -> None:
        for endpoint in endpoints:
            self.answer(endpoint, "dns_error")

    def success(self, endpoint: int) -> None:
        self.answer(endpoint, None, 200)

    def judge(self, *, after: float = 0) -> tuple[int, int]:
        """Return how many are finished and how many are given back."""
        self.seconds += after
        verdict: Reachability = self.faults.judge()
        return len(verdict.finish), len(verdict.release)


def paused() -> Stage:
    stage = Stage()
    stage.unreached(*range(6))
    assert stage.judge() == (0, 6)
    assert stage.faults.is_paused
    return stage


def test_an_answer_is_written_down_at_once() -> None:
    stage = Stage()
    stage.success(0)
    stage.answer(1, "http_status", 500)
    stage.answer(2, "timeout")

    assert stage.judge() == (3, 0)
    assert stage.judge() == (0, 0)


def test_an_attempt_that_reached_nobody_is_held_back_a_few_seconds() -> None:
    stage = Stage()
    stage.unreached(0)

    assert stage.judge(after=HOLD_SECONDS - 0.1) == (0, 0)
    assert stage.judge(after=0.2) == (1, 0)


def test_somebody_elses_answer_shows_that_it_was_the_receivers_own_fault() -> None:
    stage = Stage()
    stage.unreached(0)
    stage.seconds += 0.1
    stage.success(1)

    assert stage.judge() == (2, 0)


def test_an_answer_to_what_was_asked_before_shows_nothing() -> None:
    stage = Stage()
    stage.unreached(0)
    stage.success(1)

    assert stage.judge(after=1) == (1, 0)


def test_when_nobody_is_reached_sending_pauses_and_all_is_given_back() -> None:
    stage = Stage()
    stage.success(0)
    stage.seconds += 10
    stage.unreached(*range(4))
    assert stage.judge() == (1, 0)

    stage.unreached(4, 5)

    assert stage.judge() == (0, 6)
    assert stage.faults.is_paused


def test_four_endpoints_are_too_few_and_so_are_two_merchants() -> None:
    stage = Stage()
    stage.unreached(0, 2, 4, 6)
    assert stage.judge(after=HOLD_SECONDS) == (4, 0)

    stage = Stage()
    stage.unreached(*[0, 1, 2, 3] * 3)
    assert stage.judge(after=HOLD_SECONDS) == (12, 0)


def test_four_in_five_are_not_enough() -> None:
    stage = Stage()
    stage.success(9)
    stage.seconds += 10
    stage.unreached(*range(4))

    assert stage.judge(after=HOLD_SECONDS) == (5, 0)


def test_failures_of_another_minute_do_not_count() -> None:
    stage = Stage()
    stage.unreached(0, 2, 4)
    stage.judge(after=61)
    stage.unreached(6, 8)

    assert stage.judge(after=HOLD_SECONDS) == (2, 0)


def test_a_healthy_endpoint_that_answers_forbids_the_pause() -> None:
    stage = Stage()
    stage.unreached(*range(20))
    stage.seconds += 1
    stage.success(21)

    assert stage.judge(after=2) == (21, 0)
    assert not stage.faults.is_paused


def test_in_a_pause_one_probe_goes_on() -> None:
    stage = paused()
    assert not stage.faults.may_probe()

    stage.seconds += 2

    assert stage.faults.may_probe()
    assert not stage.faults.may_probe()


def test_a_probe_that_reaches_nobody_is_given_back_too() -> None:
    stage = paused()
    stage.seconds += 120
    stage.unreached(0)

    assert stage.judge() == (0, 1)
    assert stage.faults.is_paused


def test_the_first_answer_ends_the_pause() -> None:
    stage = paused()
    stage.seconds += 120
    stage.answer(0, "http_status", 503)

    assert stage.judge() == (1, 0)
    assert not stage.faults.is_paused
    stage.unreached(1)
    assert stage.judge(after=HOLD_SECONDS) == (1, 0)


def test_a_pause_ends_by_itself_and_begins_anew_only_after_an_answer() -> None:
    stage = paused()
    stage.judge(after=PAUSE_MAX_SECONDS)
    stage.unreached(*range(6))
    assert stage.judge(after=HOLD_SECONDS) == (6, 0)

    stage.success(0)
    stage.seconds += 10
    stage.unreached(*range(6))

    assert stage.judge() == (1, 6)


def test_a_merchant_whose_many_endpoints_are_gone_pauses_nobody_else() -> None:
    stage = Stage()
    stage.success(100)
    stage.success(200)
    stage.seconds += 4

    for endpoint in range(12):
        stage.faults.take(stage.of(merchant=0, endpoint=endpoint))
    stage.unreached(300)

    assert stage.judge() == (2, 0)
    assert not stage.faults.is_paused


def test_merchants_who_are_never_reached_pause_nobody_who_answers_now_and_then() -> None:
    stage = Stage()
    stage.success(100)
    stage.seconds += 4

    stage.unreached(*range(20))

    assert stage.judge() == (1, 0)
    assert not stage.faults.is_paused


def test_where_few_are_known_all_of_them_have_to_be_gone() -> None:
    stage = Stage()
    stage.success(0)
    stage.success(1)
    stage.judge(after=600)
    stage.unreached(0)
    assert stage.judge() == (0, 0)

    stage.unreached(1)

    assert stage.judge() == (0, 2)


def test_where_few_are_known_one_that_was_reached_lately_forbids_the_pause() -> None:
    stage = Stage()
    for endpoint in range(3):
        stage.success(endpoint)
    stage.judge(after=10)

    stage.unreached(0, 1)

    assert stage.judge() == (0, 0)


def test_two_endpoints_of_one_host_say_nothing_of_our_network() -> None:
    stage = Stage()
    for error in (None, "connection_error"):
        for endpoint in (0, 1):
            answer = stage.of(merchant=0, endpoint=endpoint, error=error, host="acme.example")
            stage.faults.take(answer)
        stage.judge(after=10)

    assert not stage.faults.is_paused


def test_probes_are_of_all_merchants_and_the_best_known_go_first() -> None:
    stage = paused()
    stage.success(30)
    hostile = [stage.of(merchant=0, endpoint=endpoint).claimed for endpoint in range(10)]
    others = [stage.of(merchant=endpoint // 2, endpoint=endpoint).claimed for endpoint in (20, 30)]

    probes = stage.faults.probes([*hostile, *others])

    assert [probe.endpoint_id for probe in probes] == ["we_30", "we_0", "we_20"]
