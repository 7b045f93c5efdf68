"""Messages due at one moment: how fast engines send them, compared with a bare publisher in the same run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.message_drain import one_round, servers
from benchmarks.workload import Bench, Figure, Measurement


@dataclass(frozen=True, slots=True)
class MessageBurst:
    """One engine and one broker at a time, without the rest of a deployment."""

    number: int = 50_000
    name: str = "messages"

    @property
    def measures(self) -> str:
        """What is done."""
        return (
            f"{self.number:,} messages due at one moment, signed and confirmed: one engine to RabbitMQ (persistent, "
            "mandatory), one to a Redis list; py-amqp with pipelined confirms and bare pipelines in the same run"
        )

    @property
    def figures(self) -> Sequence[Figure]:
        """Rates, ratios, and what became of the messages."""
        return (
            Figure("rabbitmq_messages_per_s", "/s", more_is_better=True),
            Figure("of_bare_publisher", "ratio", at_least=0.5),
            Figure("bare_publisher_messages_per_s", "/s", more_is_better=True),
            Figure("redis_messages_per_s", "/s", more_is_better=True),
            Figure("bare_pipelines_messages_per_s", "/s", more_is_better=True),
            Figure("lost", "messages", at_most=0, is_strict=True),
            Figure("early", "messages", at_most=0, is_strict=True),
            Figure("failed", "messages", at_most=0, is_strict=True),
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on servers that stay up; the ways take turns."""
        number = bench.scaled(self.number, 1_000)
        with servers(bench.new_directory()) as (rabbit, store):
            for _ in range(runs):
                found = one_round(rabbit, store, number)
                bare = found["rabbitmq_py_amqp_pipelined"]
                yield {
                    "rabbitmq_messages_per_s": found["rabbitmq_engine"],
                    "of_bare_publisher": found["rabbitmq_engine"] / bare,
                    "bare_publisher_messages_per_s": bare,
                    "one_by_one_messages_per_s": found["rabbitmq_py_amqp_one_by_one"],
                    "redis_messages_per_s": found["redis_engine"],
                    "bare_pipelines_messages_per_s": found["redis_pipelines"],
                } | {name: found[name] for name in ("lost", "early", "failed")}


MESSAGES = MessageBurst()
