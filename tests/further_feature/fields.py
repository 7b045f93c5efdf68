"""The minute in which a timer rests."""

from wangtimer.core.api_field import ApiField, ValueType
from wangtimer.core.timers.field import TimerField

REST = "rest_minute"
FIELDS: tuple[TimerField[int | None], ...] = (
    TimerField(
        REST,
        default=None,
        asked=(
            ApiField(
                REST,
                ValueType.NUMBER,
                "in this minute of each hour it is not made",
                30,
                least=0,
                most=59,
                is_of_v1_only=True,
            ),
        ),
        columns=(REST,),
    ),
)
