"""An app: a business service that has timers of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from wangtimer.core.egress.way_out import UNSET, AppEgress
from wangtimer.core.retry import RetryPolicy


@dataclass(frozen=True, slots=True)
class RegisteredApp:
    """An app as it was made. Moments in ms UTC; `disabled_at` None: it is not disabled.

    `limits` has the bounds that an operator set for it, by their names in the API; a name that is absent has the
    operator's default. `egress` is what the operator set for its way out. `queue` is the name of its own queue; None:
    it goes by the common one. `retry` is when its failed calls are made again, where neither a timer nor its target
    says so; None: as the deployment does. `dead_letter_days`: for so long what failed for good is listed; None: for as
    long as its firings.
    """

    name: str
    created_at: int
    updated_at: int
    disabled_at: int | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    egress: AppEgress = UNSET
    queue: str | None = None
    retry: RetryPolicy | None = None
    dead_letter_days: int | None = None
