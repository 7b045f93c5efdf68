"""A run: so many cases over every operation of the document, each answer checked, all faults kept."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import requests
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode, Response
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks

from tests.fuzz.sensible import make_sensible
from tests.fuzz.standing import Standing
from wangtimer.api.http.codes import ErrorCode

CASES_A_ROUND = 20
CASES_A_LOOK = 25
# Of ten cases: those the schema forbids, and those it allows that stay as they were made up.
FORBIDDEN, AS_MADE_UP = 2, 1
LEAST_DONE = 0.3
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
CODES = {code.number for code in ErrorCode}


@dataclass(slots=True)
class Tally:
    """What the answers came to: HTTP statuses by operation, and faults by what they are, one request for each."""

    statuses: dict[str, Counter[int]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        return sum(counted.total() for counted in self.statuses.values())

    @property
    def done(self) -> float:
        """The share of cases that were answered 2xx."""
        done = sum(
            number
            for counted in self.statuses.values()
            for status, number in counted.items()
            if 200 <= status < 300
        )
        return done / max(self.cases, 1)

    def add(self, case: Case, response: Response) -> None:
        self.statuses.setdefault(case.operation.label, Counter())[response.status_code] += 1
        for fault in _faults(case, response):
            self.faults.setdefault(
                f"{case.operation.label}: {fault}", f"{case.as_curl_command()}\n{response.text}"
            )

    def lines(self) -> Iterator[str]:
        for label, counted in sorted(self.statuses.items()):
            yield f"{label:42} " + "  ".join(
                f"{status}: {number}" for status, number in sorted(counted.items())
            )
        yield f"{self.cases} cases, {self.done:.0%} of them 2xx, {len(self.faults)} faults"
        for fault, example in self.faults.items():
            yield f"FAULT {fault}\n{example[:4_000]}"


def fuzz(schema: Any, standing: Standing, cases: int, first_seed: int) -> Tally:
    """Call every operation of the document in turn until so many cases were answered."""
    tally = Tally()
    operations = [found.ok() for found in schema.get_all_operations()]
    for number in range(cases):
        for operation in operations:
            _call(operation, schema.raw_schema, standing, tally, first_seed + number)
            if tally.cases >= cases and len(tally.statuses) == len(operations):
                return tally
    raise AssertionError("the document has no operation")


def _call(operation: Any, document: Any, standing: Standing, tally: Tally, round_seed: int) -> None:
    @seed(round_seed)
    @settings(
        max_examples=CASES_A_ROUND,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_cases(operation), st.integers(0, 2**32))
    def answered(case: tuple[Case, bool], chance: int) -> None:
        made, is_sensible = case
        if tally.cases % CASES_A_LOOK == 0:
            standing.look()
        if is_sensible:
            _say_sensibly(made, document, standing, random.Random(chance))
        try:
            tally.add(made, made.call())
        except requests.Timeout:
            tally.faults.setdefault(f"{operation.label}: no answer in time", made.as_curl_command())

    answered()


@st.composite
def _cases(draw: st.DrawFn, operation: Any) -> tuple[Case, bool]:
    kind = draw(st.integers(0, 9))
    if kind < FORBIDDEN and (len(operation.body) or len(operation.query)):
        return draw(operation.as_strategy(GenerationMode.NEGATIVE)), False
    return draw(operation.as_strategy(GenerationMode.POSITIVE)), kind >= FORBIDDEN + AS_MADE_UP


def _say_sensibly(case: Case, document: Any, standing: Standing, chance: random.Random) -> None:
    raw = document["paths"][case.path][case.method.lower()]
    given = {"query": case.query, "header": case.headers, "path": case.path_parameters}
    for place, values in given.items():
        known = {one["name"]: one["schema"] for one in raw.get("parameters", ()) if one["in"] == place}
        if known:
            made = make_sensible(dict(values), {"properties": known}, document, standing, chance)
            values.clear()
            values.update(made)
    if isinstance(case.body, dict):
        schema = raw["requestBody"]["content"]["application/json"]["schema"]
        case.body = make_sensible(case.body, schema, document, standing, chance)


def _faults(case: Case, response: Response) -> Iterator[str]:
    try:
        case.validate_response(response, checks=CHECKS)
    except FailureGroup as group:
        for failure in group.exceptions:
            yield f"{response.status_code} {failure.title}: {failure.message[:200]}"
    content_type = response.headers.get("content-type")
    if content_type == ["application/problem+json"]:
        yield from _problem_faults(response)
    elif content_type == ["application/json"] and not case.path.startswith("/v1/"):
        yield from _envelope_faults(response)


def _envelope_faults(response: Response) -> Iterator[str]:
    answer = response.json()
    if response.status_code < 300:
        if answer["code"] != 0:
            yield f"{response.status_code} with code {answer['code']}"
    elif answer["code"] not in CODES or answer["code"] // 100 != response.status_code:
        yield f"{response.status_code} with code {answer['code']}, which docs/api-errors.md does not have"
    elif not answer["msg"].startswith(f"{answer['field'] or 'request'}: ") or "; " not in answer["msg"]:
        yield f"{answer['code']} does not name its field and mend: {answer['msg']}"


def _problem_faults(response: Response) -> Iterator[str]:
    problem = response.json()
    code = problem["code"]
    if code not in CODES or not code // 100 == problem["status"] == response.status_code:
        yield f"{response.status_code} with code {code} and status {problem['status']}"
    elif problem["type"] != f"/docs/errors#{code}" or "; " not in problem["detail"]:
        yield f"{code} does not lead to its page, or says no mend: {problem['type']} {problem['detail']}"
