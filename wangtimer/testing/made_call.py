"""A call as its target saw it, and what tells which firing it was for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class MadeCall:
    """One attempt of one firing; moments are in the zone of the `WangTimer` that made it.

    `key`        the timer's key (its name under the compatible paths), as it was when the call was made
    `app`        whose timer it is; `timer_id` the service's number of it
    `firing_id`  the header `webhook-id`: the same for every attempt of a firing
    `fire_at`    the scheduled moment, `at` when this attempt was made
    `lateness`   how much later than that: of a first attempt than its moment, of a later one than its pause allows
    `attempt`    1 for the first
    `headers`    what the timer's owner gave, and the service's own; names of any case are found
    `body`       as text, "" where there is none
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
        """The body read as JSON; raises ValueError where it is none."""
        return json.loads(self.body)
