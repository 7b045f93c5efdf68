"""What robots of chat services take and answer, as their vendors document it.

* DingTalk (open.dingtalk.com, custom robots): `timestamp` (ms) and `sign` in the URL's query, the sign being the
  percent-encoded Base64 of HMAC-SHA256 of `timestamp\\nsecret` under the secret; `errcode` 0 when taken.
* WeCom (developer.work.weixin.qq.com, group robots): a key in the URL, no sign; text up to 2,048 bytes; `errcode` 0.
* Feishu (open.feishu.cn, custom bots): `timestamp` (s) and `sign` in the body, the sign being the Base64 of HMAC-SHA256
  of nothing under `timestamp\\nsecret`; `code` 0, or `StatusCode` 0 of older ones; a body up to 20 KB.
* Slack (api.slack.com, incoming webhooks): `text` with &, < and > escaped; any answer but 200 is an error.
"""

import hmac
from base64 import b64encode
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from wangtimer.core.alerts.alert_message import AlertMessage
from wangtimer.core.alerts.alert_rule import Destination, DestinationKind

# Bytes of text that robots take, or fewer.
_MOST_BYTES = {
    DestinationKind.WECOM: 2_048,
    DestinationKind.DINGTALK: 15_000,
    DestinationKind.FEISHU: 15_000,
    DestinationKind.SLACK: 15_000,
}
_CODES = {
    DestinationKind.DINGTALK: ("errcode",),
    DestinationKind.WECOM: ("errcode",),
    DestinationKind.FEISHU: ("code", "StatusCode"),
}


class Posting(NamedTuple):
    """What is posted as JSON, and where."""

    url: str
    body: bytes


def posting(message: AlertMessage, to: Destination, now: int) -> Posting:
    """Return what to post to a robot at `now` (ms UTC)."""
    text = message.text(_MOST_BYTES[to.kind])
    match to.kind:
        case DestinationKind.DINGTALK:
            return Posting(_signed_url(to, now), _json(msgtype="text", text={"content": text}))
        case DestinationKind.WECOM:
            return Posting(to.url, _json(msgtype="text", text={"content": text}))
        case DestinationKind.FEISHU:
            stamps = _feishu_stamps(to.secret, now // 1_000) if to.secret else {}
            # A tag would call everybody of the group; Feishu has no way to write it out.
            harmless = text.replace("<at", "< at")
            return Posting(to.url, _json(**stamps, msg_type="text", content={"text": harmless}))
        case _:
            escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            return Posting(to.url, _json(text=escaped))


def refusal(kind: DestinationKind, answer: str) -> str:
    """Return why a robot did not take a message that it answered with 200; "" if it took it."""
    names = _CODES.get(kind)
    if names is None:
        return ""
    try:
        fields = orjson.loads(answer)
    except orjson.JSONDecodeError:
        fields = None
    if not isinstance(fields, dict):
        return "its answer is not the JSON that such a robot gives"
    codes = [fields[name] for name in names if name in fields]
    if codes and codes[0] == 0 and codes[0] is not False:
        return ""
    return f"it answered {answer[:200]}"


def _signed_url(to: Destination, now: int) -> str:
    if not to.secret:
        return to.url
    digest = hmac.digest(to.secret.encode(), f"{now}\n{to.secret}".encode(), "sha256")
    sign = quote(b64encode(digest).decode(), safe="")
    joint = "&" if "?" in to.url else "?"
    return f"{to.url}{joint}timestamp={now}&sign={sign}"


def _feishu_stamps(secret: str, now_s: int) -> dict[str, str]:
    digest = hmac.digest(f"{now_s}\n{secret}".encode(), b"", "sha256")
    return {"timestamp": str(now_s), "sign": b64encode(digest).decode()}


def _json(**fields: Any) -> bytes:
    return orjson.dumps(fields)
