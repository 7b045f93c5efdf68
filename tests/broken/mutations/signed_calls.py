"""Signed calls: signatures and the secrets of apps."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Signed calls"
PROMISES = (
    Promise(
        "a-call-that-waited-is-signed-anew",
        "the timestamp is that of the attempt, however long the call waited in its process.",
        breaks="The signature stays that of the preparation.",
        by=Mutation(
            "Attempt.may_send",
            "if anew is not made:",
            "if False:",
        ),
        red="tests/callback/test_signatures.py::test_a_call_that_waited_here_is_signed_anew",
    ),
    Promise(
        "a-changed-secret-is-told-again",
        "a change of secrets that Redis missed is told by the sweep.",
        breaks="The sweep tells only of timers.",
        by=Mutation(
            "Refresher._begin",
            """
            for copies in self.shared:
                # A Redis without the time has lost all. Of timers the feeder tells it; of this nobody else does.
                copies.refresh(0 if told_until is None else began_behind)
            """,
            "",
        ),
        red="tests/api/v1/test_signing_secrets.py::test_executors_are_told_at_once_and_else_by_the_sweep",
    ),
    Promise(
        "a-forged-call-is-refused",
        "a receiver with the secret refuses what is not signed with it.",
        breaks="Any signature will do.",
        by=Mutation("Verification.check", "if not any(matches):", "if not matches:"),
        red="tests/client/test_receive.py::test_what_is_forged_or_replayed_is_refused",
    ),
    Promise(
        "a-token-is-of-one-attempt",
        "the token of a call is good for its firing and attempt alone.",
        breaks="The number in it is not looked at.",
        by=Mutation(
            "_token",
            r'digest = hmac.digest(key, b"%d\n%d\n%d" % member, "sha256")',
            r'digest = hmac.digest(key, b"%d\n%d" % member.key, "sha256")',
        ),
        red="tests/core/test_ack_token.py::test_it_is_good_for_no_other_firing_or_attempt_and_under_no_other_key",
    ),
    Promise(
        "an-old-secret-replaces-no-newer-one",
        "a secret that was ended does not come back by a copy that came late.",
        breaks="The last copy that is written counts.",
        by=Mutation(
            "signing_put.lua",
            "if held and (held == ARGV[3] or tonumber(string.match(held, '^%d+')) > tonumber(ARGV[2])) then",
            "if held and (held == ARGV[3]) then",
        ),
        red="tests/store/test_signing_store.py::test_the_newer_copy_stays",
    ),
    Promise(
        "no-receiver-speaks-for-another",
        "who knows an app's signing secret cannot make a token of its calls.",
        breaks="Tokens are made with the secret.",
        by=Mutation(
            "LongWork._member",
            "attempt = self.ack_tokens.attempt_of(token, timer_id, fire_at)",
            "attempt = int(token[0])",
        ),
        red="tests/testing/test_long_work.py::test_who_knows_the_apps_signing_secret_cannot_make_a_token",
    ),
    Promise(
        "secrets-outlast-an-absent-sql",
        "calls go on, signed, while SQL is away.",
        breaks="What a process remembers does not count while SQL is away.",
        by=Mutation("SharedCopies.ask", "return self._remembered(keys)", "return {}"),
        red="tests/stages/test_signings.py::test_what_is_known_goes_on_while_sql_and_redis_are_away",
    ),
    Promise(
        "signing-secrets-are-encrypted",
        "the secrets that sign are encrypted in SQL and Redis.",
        breaks="They are written as text.",
        by=Mutation("_written", "if seals.sealing_id is None:", "if seals is not None:"),
        red="tests/store/test_signing_store.py::test_secrets_are_sealed_in_sql_and_redis_for_their_app_and_place",
    ),
    Promise(
        "two-that-make-a-secret-make-one",
        "processes that need an app's first secret at once all sign with the same.",
        breaks="Each signs with the secret that it made.",
        by=Mutation(
            "SigningStore.needed",
            """
            self._make([AppSigning.unmade(app).with_a_secret(new_key(), now) for app in missing], now)
            made = self._read(missing)
            """,
            """
            ours = [AppSigning.unmade(app).with_a_secret(new_key(), now) for app in missing]
            self._make(ours, now)
            made = Readable({one.app: one for one in ours})
            """,
        ),
        red="tests/store/test_signing_store.py::test_many_that_need_a_secret_at_once_get_the_same",
    ),
    Promise(
        "what-cannot-be-signed-is-not-sent",
        "a call that is to be signed is not sent without a signature.",
        breaks="Without a secret the call goes out unsigned.",
        by=Mutation(
            "AppSigning.keys_at",
            """
            if not keys:
                raise LookupError("no secret of its app signs")
            """,
            "",
        ),
        red="tests/callback/test_signatures.py::test_without_a_secret_nothing_is_sent",
    ),
)
