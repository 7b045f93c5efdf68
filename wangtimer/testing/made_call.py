"""A call as its target saw it, with its firing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class MadeCall:
    """One attempt of one firing; moments are in the zone of its `WangTimer`.

    `key`        the timer's key (its name under the compatible paths), as it was when the call was made
    `app`        the app of the timer; `timer_id` is the timer's id
    `firing_id`  the header `webhook-id`: the same for every attempt of a firing
    `fire_at`    the scheduled moment; `at` is when this attempt was made
    `lateness`   how late: a first attempt after its moment, a later one after the end of its pause
    `attempt`    1 for the first
    `headers`    those of the timer's target and the service's own; the case of names does not matter
    `body`       as text; "" for none
    """

    key: str
    app: str
    timer_id: int
    firing_id: str
    fire_at: datetime
    at: datetime
    lateness: timedelta
    attempt: int
    method: str
    url: str
    headers: Mapping[str, str]
    body: str

    @property
    def json(self) -> Any:
        """The body read as JSON; raises ValueError where it is not JSON."""
        return json.loads(self.body)
