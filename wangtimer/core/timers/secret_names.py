"""Which headers and query parameters hold secrets, by their names."""

import re
from functools import lru_cache

# Stands in place of a secret wherever a call is shown.
MASK = "***"
# In any spelling.
_SECRET = re.compile(
    r"auth(?!or)|authori[sz]|cookie|token|secret|pass|pwd|credential|session|signature|bearer|jwt|hmac|saml|key|code"
    r"|(?<![a-z])(?:sig|sign|sid|sas|otp|pin|psk|mac)(?![a-z])",
    re.I,
)
# Headers whose name is like that of a secret, in lower case.
_HARMLESS_HEADERS = frozenset({"idempotency-key"})


@lru_cache(maxsize=1_024)  # few names, asked for in each request and attempt
def is_secret_name(name: str) -> bool:
    """Tell whether a query parameter of this name, percent-decoded, holds a secret."""
    return _SECRET.search(name) is not None


def is_secret_header(name: str) -> bool:
    """Tell whether a header of this name holds a secret."""
    return is_secret_name(name) and name.lower() not in _HARMLESS_HEADERS
