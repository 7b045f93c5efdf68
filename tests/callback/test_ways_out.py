"""The way out of one app's calls: https only, what is allowed beside, its certificate, and whom it trusts."""

import ssl
from collections.abc import Callable, Iterator

import pytest
import trustme

from tests.callback.asking_target import AskingTarget
from tests.callback.calls import egress_of
from tests.callback.target import Target
from tests.callback.test_egress import assert_refused
from wangtimer.callback import Egress, Reply, Tls
from wangtimer.callback.client_certificate import show_certificate
from wangtimer.callback.tls import client_context
from wangtimer.core.egress.way_out import AppEgress

CLOSING = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.fixture(scope="module")
def private() -> trustme.CA:
    """An authority that this machine does not know."""
    return trustme.CA()


@pytest.fixture
def asking(authority: trustme.CA, private: trustme.CA) -> Iterator[Callable[..., AskingTarget]]:
    made: list[AskingTarget] = []

    def build(vouched_by: trustme.CA = authority, **how: object) -> AskingTarget:
        made.append(AskingTarget(vouched_by, private, **how))  # type: ignore[arg-type]
        return made[-1]

    yield build
    for target in made:
        target.close()


def context_of(authority: trustme.CA, name: str) -> ssl.SSLContext:
    """Return what an app calls with that shows a certificate of this name."""
    issued = authority.issue_cert(common_name=name)
    context = client_context()
    chain = "".join(one.bytes().decode() for one in issued.cert_chain_pems)
    show_certificate(context, chain, issued.private_key_pem.bytes().decode())
    return context


@pytest.fixture
def egress() -> Egress:
    return egress_of()


@pytest.fixture
def own_tls() -> Tls:
    return Tls("")


@pytest.fixture
def call(new_engine, egress: Egress, own_tls: Tls, outcomes) -> Callable[..., Reply]:
    engine = new_engine(egress=egress, tls=own_tls)

    def called(url: str, app: str = "shop") -> Reply:
        engine.submit([outcomes.call(url, app=app)])
        return outcomes.wait(outcomes.ends + 1)[-1]

    return called


@pytest.fixture
def tls() -> None:
    """`Target` of these tests speaks plain HTTP."""


# https only


def test_an_app_with_https_only_makes_no_plain_call_and_others_do(call, egress, target) -> None:
    egress.change_apps({"shop": AppEgress(https_only=True)})
    assert_refused(call(target.url))
    assert not target.connections
    assert call(target.url, "bank").succeeded
    ((refusal, _),) = egress.take_refusals()[0].items()
    assert (refusal.app, refusal.rule) == ("shop", "its app may use https only")


def test_its_calls_with_tls_go_out(call, egress, server_context) -> None:
    egress.change_apps({"shop": AppEgress(https_only=True)})
    target = Target(tls=server_context)
    assert call(target.url).succeeded
    target.close()


def test_a_kept_plain_connection_is_used_no_more_once_its_app_has_https_only(call, egress, target) -> None:
    assert call(target.url).succeeded
    assert call(target.url, "bank").succeeded
    egress.change_apps({"shop": AppEgress(https_only=True)})
    assert_refused(call(target.url))
    assert call(target.url, "bank").succeeded
    assert [one.values("x") for one in target.requests] == [[], [], []]
    assert len(target.connections) == 2


# allowed beside


@pytest.fixture
def egress_to_public(new_engine, outcomes) -> tuple[Egress, Callable[..., Reply]]:
    judge = egress_of("public")
    engine = new_engine(egress=judge)

    def called(url: str, app: str = "shop") -> Reply:
        engine.submit([outcomes.call(url, app=app)])
        return outcomes.wait(outcomes.ends + 1)[-1]

    return judge, called


def test_what_is_allowed_for_one_app_is_allowed_for_no_other(egress_to_public, target) -> None:
    egress, call = egress_to_public
    egress.change_apps({"shop": AppEgress(allow=(f"127.0.0.0/8:{target.port}",))})
    assert call(target.url).succeeded
    assert_refused(call(target.url, "bank"))
    assert len(target.connections) == 1


def test_what_is_allowed_no_longer_ends_its_kept_connection(egress_to_public, target) -> None:
    egress, call = egress_to_public
    egress.change_apps({"shop": AppEgress(allow=("127.0.0.1",))})
    assert call(target.url).succeeded
    egress.change_apps({"shop": AppEgress(allow=("127.0.0.2",))})
    assert_refused(call(target.url))
    assert len(target.requests) == 1


def test_rules_of_the_deployment_that_change_leave_those_of_apps(egress_to_public, target) -> None:
    egress, call = egress_to_public
    egress.change_apps({"shop": AppEgress(allow=("127.0.0.1",))})
    egress.change(egress.rules)
    assert call(target.url).succeeded


# client certificates


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_a_target_that_asks_who_calls_is_shown_the_apps_own_certificate(
    call, own_tls, asking, private, version
) -> None:
    target = asking(version=version)
    own_tls.change({app: context_of(private, app) for app in ("shop", "bank")})
    for app in ("shop", "bank", "shop", "bank"):
        assert call(target.url, app).succeeded
    assert target.shown == ["shop", "bank", "shop", "bank"]
    assert target.connections == 2


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_an_app_without_one_shows_none_and_is_told_that_the_target_wants_one(
    call, own_tls, asking, private, version
) -> None:
    target = asking(version=version)
    own_tls.change({"shop": context_of(private, "shop")})
    assert call(target.url).succeeded
    reply = call(target.url, "bank")
    assert "certificate required" in reply.error or "handshake failure" in reply.error
    assert target.shown == ["shop"]


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("answer", [CLOSING, b"HTTP/1.1 204 No Content\r\n\r\n"], ids=["new", "kept"])
def test_another_certificate_or_none_counts_for_the_next_call_on_kept_and_resumed_connections(
    call, own_tls, egress, asking, private, version, answer
) -> None:
    target = asking(must_show=False, version=version, answer=answer)
    for own in (context_of(private, "old"), context_of(private, "new"), None):
        own_tls.change({} if own is None else {"shop": own})
        egress.change_apps({})
        for _ in range(2):
            assert call(target.url).succeeded
    assert target.shown == ["old", "old", "new", "new", None, None]


def test_a_connection_of_an_app_whose_certificate_stays_is_kept(
    call, own_tls, egress, asking, private
) -> None:
    target = asking()
    own = {"shop": context_of(private, "shop")}
    for _ in range(3):
        own_tls.change(own)
        egress.change_apps({})
        assert call(target.url).succeeded
    assert target.connections == 1


def test_an_app_whose_certificate_cannot_be_used_here_makes_no_call_with_tls(call, own_tls, asking) -> None:
    target = asking(must_show=False)
    own_tls.change({"shop": "its client certificate cannot be used: this process has no key 'a'"})
    reply = call(target.url)
    assert "no key 'a'" in reply.error
    assert not reply.was_sent
    assert not target.shown
    assert own_tls.fault_of("shop")
    assert not own_tls.fault_of("bank")


# whom to trust


def test_a_target_of_a_private_authority_is_called_by_those_who_trust_it_only(
    call, own_tls, asking, private
) -> None:
    target = asking(private, must_show=False)
    own_tls.change({"shop": client_context(private.cert_pem.bytes().decode())})
    assert call(target.url).succeeded
    assert "not to be trusted" in call(target.url, "bank").error
    assert len(target.shown) == 1


def test_authorities_of_the_operator_count_for_all_beside_those_of_the_system(
    new_engine, outcomes, asking, private
) -> None:
    engine = new_engine(tls=Tls(private.cert_pem.bytes().decode()))
    urls = [asking(private, must_show=False).url, asking(must_show=False).url]
    engine.submit(outcomes.call(url) for url in urls)
    assert all(reply.succeeded for reply in outcomes.wait(2))


def test_whom_an_app_trusts_no_longer_ends_its_kept_connection(
    call, own_tls, egress, asking, private
) -> None:
    target = asking(private, must_show=False)
    own_tls.change({"shop": client_context(private.cert_pem.bytes().decode())})
    assert call(target.url).succeeded
    own_tls.change({})
    egress.change_apps({})
    assert "not to be trusted" in call(target.url).error
    assert len(target.shown) == 1


# what nobody can switch off


def test_certificates_and_names_are_checked_and_tls_is_1_2_at_least(private) -> None:
    for context in (client_context(), client_context(private.cert_pem.bytes().decode())):
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_target_that_knows_tls_1_1_only_is_not_called(call, authority) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    authority.issue_cert("127.0.0.1").configure_cert(context)
    target = Target(tls=context)
    reply = call(target.url)
    assert "TLS with 127.0.0.1" in reply.error
    assert not target.requests
    target.close()
