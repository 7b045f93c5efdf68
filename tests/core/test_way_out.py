"""What is set for the way out of one app: its rules beside those of all, and its text."""

import pytest

from wangtimer.core.egress.egress_rules import EgressRules, Peer, is_only_metadata, read_egress, read_item
from wangtimer.core.egress.special_networks import METADATA
from wangtimer.core.egress.way_out import STRICTEST, UNSET, WAYS_OUT, AppEgress, WayOut, WaysOut

RULES = EgressRules(read_egress("public"))
INSIDE = Peer("", "10.1.2.3", 443, is_tls=True)


def test_an_apps_items_allow_beside_those_of_the_deployment() -> None:
    own = RULES.of_app(AppEgress(allow=("10.1.0.0/16:443", "*.corp.example")))
    assert RULES.refusal(INSIDE)
    assert not own.refusal(INSIDE)
    assert own.refusal(INSIDE._replace(port=80))
    assert not own.refusal(Peer("a.corp.example", "192.168.0.1", 80))
    assert not own.refusal(Peer("", "8.8.8.8", 80))


def test_https_only_refuses_every_plain_connection() -> None:
    own = RULES.of_app(AppEgress(https_only=True))
    assert own.refusal(Peer("", "8.8.8.8", 443)) == "its app may use https only"
    assert not own.refusal(Peer("", "8.8.8.8", 80, is_tls=True))


def test_no_item_of_an_app_allows_metadata() -> None:
    own = RULES.of_app(AppEgress(allow=("0.0.0.0/0", "::/0", "*.internal", *map(str, METADATA))))
    for address in METADATA:
        for name in ("", "metadata.internal"):
            assert "metadata" in own.refusal(Peer(name, str(address), 80))
    assert all(is_only_metadata(str(address)) for address in METADATA)
    assert not any(
        map(is_only_metadata, ("0.0.0.0/0", "169.254.0.0/16", "10.0.0.1", "metadata.internal", "public"))
    )


def test_an_item_that_cannot_be_read_allows_nothing_and_the_others_count() -> None:
    own = RULES.of_app(AppEgress(allow=("!!", "10.1.0.0/16")))
    assert not own.refusal(INSIDE)
    assert own.refusal(Peer("", "10.2.0.1", 443))


@pytest.mark.parametrize("item", ["10.1.0.0/16,public", "", "10.0.0.1/8", "*", "a b"])
def test_one_item_is_read_at_a_time(item: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_item(item)


def test_fields_that_are_not_named_stay_and_none_takes_one_out() -> None:
    one = UNSET.changed({"httpsOnly": True, "allow": ("10.1.0.0/16",)})
    assert one == AppEgress(https_only=True, allow=("10.1.0.0/16",))
    assert one.changed({"allow": None}) == AppEgress(https_only=True)
    assert one.changed({"httpsOnly": None, "caCertificates": "pem"}) == AppEgress(
        allow=("10.1.0.0/16",), authorities="pem"
    )


def test_what_is_written_is_read_back() -> None:
    one = AppEgress(https_only=True, allow=("10.1.0.0/16",), authorities="pem")
    assert AppEgress.from_text(one.text) == one
    assert UNSET.text is None
    assert AppEgress.from_text(None) == UNSET


def test_of_a_later_format_what_is_known_counts() -> None:
    assert AppEgress.from_text('{"httpsOnly":true,"further":1}') == AppEgress(https_only=True)


def test_an_app_whose_own_cannot_be_read_has_the_strictest() -> None:
    told = {"mark": "m", "apps": {"a": ["[]", "", ""], "b": [None, "", ""]}}
    assert WAYS_OUT.from_json(told) == WaysOut("m", {"a": WayOut(STRICTEST), "b": WayOut()})
