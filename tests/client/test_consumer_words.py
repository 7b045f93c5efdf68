"""What consumers say goes to the stream in bodies that it takes."""

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from wangtimer.client import consumer_words
from wangtimer.client.consumer_words import Speaker, Word
from wangtimer.client.errors import BadAnswer, ClientError, refused
from wangtimer.client.transport import Answer, Call, Transport
from wangtimer.stream.stream_app import MOST_BODY_BYTES

PLACE = "/v1/consumers/work"
LONG = "数据库连接失败" * 300
TOO_LARGE = {"type": "", "title": "", "status": 413, "detail": "the body is too large", "code": 41301}


class Stream:
    """Takes bodies up to a size; counts those that it refused, and notes the ids that it was told."""

    def __init__(self, most_bytes: int, refusal: ClientError | None = None) -> None:
        self.most_bytes = most_bytes
        self.refusal = refused(cast("Any", TOO_LARGE)) if refusal is None else refusal
        self.refusals = 0
        self.told: list[str] = []

    def ask(self, call: Call) -> Answer:
        assert call.body is not None
        if len(json.dumps(call.body, ensure_ascii=False).encode()) > self.most_bytes:
            self.refusals += 1
            raise self.refusal
        firings = call.body["firings"]
        self.told += [one["id"] for one in firings]
        return Answer(call.path, 200, {"items": [{"id": one["id"]} for one in firings]})

    def close(self) -> None:
        pass


def told_by(stream: Stream, words: Sequence[Word]) -> None:
    speaker = Speaker(cast("Transport", stream), PLACE, {})
    for word in words:
        speaker.say(word)
    speaker.start()
    speaker.stop()


def nacks(count: int) -> list[Word]:
    return [Word("nack", str(number), "token", LONG, final=True) for number in range(count)]


def test_many_long_errors_go_in_bodies_that_the_stream_takes() -> None:
    stream = Stream(MOST_BODY_BYTES)
    told_by(stream, nacks(500))
    assert (sorted(map(int, stream.told)), stream.refusals) == (list(range(500)), 0)


@pytest.mark.parametrize(
    "refusal",
    [None, BadAnswer("/words answered 413, not as WangTimer does: <html>", 413)],
    ids=["ours", "a proxy's"],
)
def test_what_is_too_large_all_the_same_is_told_in_halves(
    monkeypatch: pytest.MonkeyPatch, refusal: ClientError | None
) -> None:
    monkeypatch.setattr(consumer_words, "PATIENCE_S", 0.0)
    stream = Stream(50_000, refusal)
    told_by(stream, nacks(20))
    assert sorted(map(int, stream.told)) == list(range(20))


def test_one_word_that_is_too_large_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer_words, "PATIENCE_S", 0.0)
    stream = Stream(5_000)
    told_by(
        stream, [Word("nack", "long", "token", LONG), *(Word("nack", str(one), "token") for one in range(9))]
    )
    assert sorted(stream.told) == [str(one) for one in range(9)]
