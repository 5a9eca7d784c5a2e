"""Many clients that ask at once, each with its own patience; every single answer is kept.

A process of its own: `python -m bench.crowd ORDER.json` prints what each heard as JSON lines.
"""

import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from bench.client import ClientCall, Line, new_key
from bench.stage import Stage
from devstack.console import say

NO_ANSWER = 0


class Heard(NamedTuple):
    """The end of one request: an answer, or the client hung up.

    :param sent_at: unix time, as is `heard_at`: of the answer, or when the client hung up.
    :param status: `NO_ANSWER` if the client's patience or its connection ended first.
    :param code: of a refusal.
    :param id: of the object that was answered.
    """

    key: str
    sent_at: float
    heard_at: float
    status: int
    code: str | None
    id: str | None
    state: str | None

    @property
    def seconds(self) -> float:
        return self.heard_at - self.sent_at


class Crowd(NamedTuple):
    """Clients that repeat a call; one that loses patience hangs up and begins again.

    They wait where an answer says `Retry-After`, as payment SDKs do.
    """

    name: str
    call: ClientCall
    clients: int
    patience_seconds: float = 60


def ask(stage: Stage, crowds: list[Crowd], *, seconds: float) -> dict[str, list[Heard]]:
    """Let crowds ask at the same time, each in a process of its own; return what each heard.

    :raises CannotContinue: one of the processes failed.
    """
    said = " and ".join(f"{crowd.clients} {crowd.name}" for crowd in crowds)
    say("bench", f"{said} for {seconds:.0f} s")
    with ThreadPoolExecutor(len(crowds)) as pool:
        heard = pool.map(lambda crowd: _heard_by(stage, crowd, seconds), crowds)
        return {crowd.name: answers for crowd, answers in zip(crowds, heard, strict=True)}


def _heard_by(stage: Stage, crowd: Crowd, seconds: float) -> list[Heard]:
    order = stage.directory / f"crowd-{crowd.name}.json"
    order.write_text(json.dumps({**crowd._asdict(), "call": asdict(crowd.call), "for": seconds}))
    program = [sys.executable, "-m", "bench.crowd", str(order)]
    printed = stage.output_of(program, seconds=seconds + crowd.patience_seconds)
    return [Heard(*json.loads(line)) for line in printed.splitlines()]


# --- The process ------------------------------------------------------------------------------


def _ask_until(crowd: Crowd, end: float, heard: list[Heard]) -> None:
    line: Line | None = None
    while time.time() < end:
        one, line = _ask_once(crowd, line)
        heard.append(one)
        if line and (pause := line.retry_after_seconds):
            time.sleep(max(0.0, min(pause, end - time.time())))
        if line and line.is_last:
            line.close()
            line = None
    if line:
        line.close()


def _ask_once(crowd: Crowd, line: Line | None) -> tuple[Heard, Line | None]:
    key, sent_at = new_key(), time.time()
    try:
        line = line or Line(crowd.call.port, crowd.patience_seconds)
        status, content = line.ask(crowd.call.request(key))
        body = json.loads(content)
    except (OSError, ValueError):
        if line:
            line.close()
        return Heard(key, sent_at, time.time(), NO_ANSWER, None, None, None), None
    code = body.get("error", {}).get("code")
    shown = (code, body.get("id"), body.get("status"))
    return Heard(key, sent_at, time.time(), status, *shown), line


def all_of(crowd: Crowd, seconds: float) -> Iterator[Heard]:
    """Let a crowd ask for so long, then return what each of its clients heard."""
    end = time.time() + seconds
    heard: list[list[Heard]] = [[] for _ in range(crowd.clients)]
    threads = [threading.Thread(target=_ask_until, args=(crowd, end, one)) for one in heard]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in heard:
        yield from one


def main() -> None:
    order: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    seconds, call = order.pop("for"), ClientCall(**order.pop("call"))
    with suppress(BrokenPipeError):
        for heard in all_of(Crowd(call=call, **order), seconds):
            print(json.dumps(heard))


if __name__ == "__main__":
    main()
