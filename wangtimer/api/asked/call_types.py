"""The URL and the body of a call in requests of all paths."""

from typing import Annotated

from pydantic import AfterValidator, Field

from wangtimer.api.http.notify_rules import MOST_URL_CHARACTERS, check_changed_url, check_url

# The length of a URL is in the schema for readers; `check_url` says it better.
_URL = {"minLength": 1, "maxLength": MOST_URL_CHARACTERS}
Url = Annotated[
    str,
    Field(
        description="http or https, ASCII, no user name in it",
        json_schema_extra=dict(_URL),
        examples=["https://shop.example/orders/expire"],
    ),
    AfterValidator(check_url),
]
ChangedUrl = Annotated[
    str | None,
    Field(
        description="as in a new timer; null is refused, since every call has a URL",
        json_schema_extra=dict(_URL),
    ),
    AfterValidator(check_changed_url),
]
Body = Annotated[str | None, Field(description="sent as it is, in UTF-8", examples=['{"order":7}'])]
ChangedBody = Annotated[str | None, Field(description="null: none")]
