"""The API: secrets, and what is shown, logged and stored of them."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "The API"
PROMISES = (
    Promise(
        "a-deleted-timer-keeps-no-secret",
        "a deleted timer keeps no secret.",
        breaks="The row of a deleted timer keeps its call.",
        by=Mutation("change", "columns |= EMPTIED", "pass"),
        red="tests/api/v1/test_secrets.py::test_a_deleted_timer_keeps_no_call[sqlite-alone]",
    ),
    Promise(
        "a-kept-secret-goes-to-no-other-host",
        "a secret that an edit keeps goes to no other scheme, host or port than it was given for.",
        breaks="Nobody compares where the edited URL leads.",
        by=Mutation(
            "_check",
            """
            if kept_from is not None:
                check_same_place(call, kept_from)
            """,
            """
            if kept_from is not None and False:
                check_same_place(call, kept_from)
            """,
        ),
        red="tests/api/v1/test_secrets.py::test_a_kept_secret_goes_to_no_other_host",
    ),
    Promise(
        "a-mask-that-comes-back-leaves-the-secret",
        "what an answer shows can be sent back, and leaves each secret as it is.",
        breaks="The mask that comes back is stored in the secret's place.",
        by=Mutation("_unmasked_headers", "yield name, values[number]", "yield name, value"),
        red="tests/core/test_secret_parts.py::test_each_mask_stands_for_the_value_of_its_name_and_number",
    ),
    Promise(
        "a-private-key-is-stored-encrypted",
        "the private key of a client certificate is encrypted in SQL and Redis, for its app alone.",
        breaks="It is stored as it is.",
        by=Mutation("seal_key", "return seals.seal_bytes(key.encode(), _bound_to(app))", "return key"),
        red="tests/store/test_ways_out.py::test_a_private_key_is_sealed_for_its_app_and_no_method_returns_it",
    ),
    Promise(
        "a-repeated-secret-is-not-on-record",
        "a secret that a target repeats in its answer is not on record.",
        breaks="The answer is kept as it came.",
        by=Mutation(
            "_hidden",
            "return outcome._replace(output=without(secrets, outcome.output), error=error)",
            "return outcome._replace(error=error)",
        ),
        red="tests/callback/test_sent_by_an_executor.py::test_a_target_that_repeats_a_secret_puts_none_on_record",
    ),
    Promise(
        "a-seal-is-of-one-timer",
        "a secret that was copied to another timer is not sent by that one.",
        breaks="A seal is bound to its app alone.",
        by=Mutation(
            "_bound_to",
            r'return (f"{app}\n{owner}" if isinstance(owner, int) else f"target\n{app}\n{owner}").encode()',
            'return app.encode() if owner else b""',
        ),
        red="tests/store/test_seals.py::test_a_seal_of_another_timer_or_app_cannot_be_opened[shop-8]",
    ),
    Promise(
        "a-stored-secret-is-shown-masked",
        "no answer shows a secret of a timer, also one that was none when it was stored.",
        breaks="The call is shown as it is stored.",
        by=Mutation(
            "call_fields",
            "notify, marks = masked(notify), notify.marks",
            "notify, marks = notify, notify.marks",
        ),
        red="tests/api/v1/test_secrets.py::test_what_was_no_secret_when_it_was_stored_is_masked_and_sealed_once_its_call_changes",
    ),
    Promise(
        "a-target-in-redis-is-sealed",
        "secrets of targets are encrypted in Redis.",
        breaks="An executor copies the target as it calls it.",
        by=Mutation(
            "SharedCopies.ask",
            "self._copies.put(found.values())",
            "self._copies.put(map(self._opened, found.values()))",
        ),
        red="tests/stages/test_targets.py::test_what_a_process_cannot_open_it_does_not_know",
    ),
    Promise(
        "a-target-that-moves-takes-no-secret-along",
        "a secret that a target keeps goes to no other scheme, host or port than it was given for.",
        breaks="Nobody compares where the new URL leads.",
        by=Mutation(
            "_check",
            """
            if kept_from is not None:
                check_same_origin(call.url, kept_from.url)
            """,
            """
            if kept_from is not None and False:
                check_same_origin(call.url, kept_from.url)
            """,
        ),
        red="tests/api/v1/test_targets.py::test_a_kept_secret_goes_to_no_other_host",
    ),
    Promise(
        "a-target-takes-no-secret-to-a-fallback",
        "a secret that a target for consumers keeps goes to no fallback at another host.",
        breaks="Only the broker is compared.",
        by=Mutation(
            "origins_of",
            'fallback = place_from(url).fallback if is_message_url(url) else ""',
            'fallback = ""',
        ),
        red="tests/api/v1/test_consumer_targets.py::test_a_kept_secret_goes_to_no_other_fallback",
    ),
    Promise(
        "a-target-takes-no-secret-of-its-timers-along",
        "a secret of a timer's own goes nowhere else because the target that the timer names moves.",
        breaks="Nobody looks for timers with secrets of their own.",
        by=Mutation("TargetStore.change.work", "_refuse_own_secrets(sql, app, name)", "pass"),
        red="tests/api/v1/test_targets.py::test_a_target_whose_timers_keep_secrets_stays_at_its_host[sqlite-PATCH]",
    ),
    Promise(
        "an-unmarked-secret-is-not-shown",
        "a mark of a secret is taken away only with its value given anew, so nobody has a secret shown.",
        breaks="A body that was marked is shown once the mark is taken away.",
        by=Mutation(
            "_unmasked_body",
            """
            if not asked.marks.body:
                raise _would_be_shown(f"{_CALL}.body")
            """,
            "",
        ),
        red="tests/api/v1/test_secrets.py::test_marking_and_unmarking",
    ),
    Promise(
        "hiding-secrets-holds-up-no-call",
        "an app with hundreds of secrets, and a target that repeats how they begin, hold up no other app's calls.",
        breaks="All of them are looked for at each place of the answer.",
        by=Mutation("_found", "if looks > MOST_LOOKS:", "if looks > MOST_LOOKS * 10**6:"),
        red="tests/core/test_secret_parts.py::test_of_secrets_that_are_too_many_to_look_for_all_is_hidden",
    ),
    Promise(
        "no-log-shows-a-secret",
        "no log, answer, setting or start-up error shows a secret.",
        breaks="The parameters of a statement that failed are logged with it.",
        by=(
            Mutation("_pool_options", '"hide_parameters": True,', ""),
            Mutation("_sqlite_engine", "hide_parameters=True,", ""),
        ),
        red="tests/api/test_canaries.py::test_a_statement_that_fails_is_told_without_its_parameters",
    ),
    Promise(
        "no-mask-is-stored-as-a-secret",
        "while a timer's secrets cannot be opened, no edit puts a mask in their place.",
        breaks="Only a mask where the edit marks a secret is looked for.",
        by=Mutation(
            "Seals.changed",
            "if may_have_masks(asked):",
            "if may_have_masks(asked) and any(asked.marks):",
        ),
        red="tests/store/test_seals.py::test_while_secrets_cannot_be_opened_no_mask_takes_their_place",
    ),
    Promise(
        "rotation-leaves-nothing-under-an-older-key",
        "rotation leaves no secret under an older key.",
        breaks="What is sealed under any key counts as done.",
        by=Mutation(
            "Seals.needs_sealing",
            "return not self.is_newest(call.sealed) if call.sealed else bool(parted(call)[1])",
            "return False if call.sealed else bool(parted(call)[1])",
        ),
        red="tests/store/test_secret_rotation.py::test_rows_under_an_older_key_and_unsealed_ones_are_sealed_under_the_first",
    ),
    Promise(
        "secrets-are-encrypted-where-they-are-stored",
        "secrets of timers' calls are encrypted in SQL and Redis.",
        breaks="The secrets stay in the call that is stored.",
        by=Mutation(
            "Seals.seal",
            "return masked._replace(sealed=self.seal_bytes(orjson.dumps(secrets), _bound_to(app, owner)))",
            "return call if secrets else masked",
        ),
        red="tests/api/v1/test_secrets.py::test_a_kept_answer_has_no_secret",
    ),
    Promise(
        "the-audit-has-no-value",
        "the audit has the names of fields, never a value.",
        breaks="It has the new values of the call.",
        by=Mutation(
            "_of_call",
            'yield f"target.{_PLACES.get(place, place)}"',
            'yield f"target.{place}={other}"',
        ),
        red="tests/store/test_audit.py::test_an_edit_names_the_fields_of_schedule_and_call_and_shows_no_value",
    ),
    Promise(
        "what-an-owner-marks-is-not-on-record",
        "a part of a call that its owner marked as secret is not on record where a target repeats it.",
        breaks="A stored call has no marks.",
        by=Mutation("beside_a_call", "if call.marks != UNMARKED:", "if call is None:"),
        red="tests/callback/test_repeated_secrets.py::test_a_timers_mark_counts_for_what_its_target_gives",
    ),
    Promise(
        "what-consumers-are-to-get-is-encrypted",
        "headers, bodies and tokens of firings that wait for consumers are encrypted in Redis.",
        breaks="The event stands there as a consumer gets it.",
        by=Mutation(
            "ConsumerLists._packed",
            "sealed = self.seals.seal_binary(entry.event, _bound_to(group, which))",
            "sealed = entry.event",
        ),
        red="tests/messaging/test_consumers.py::test_what_stands_in_redis_is_sealed_for_its_group_and_attempt",
    ),
    Promise(
        "what-was-rotated-is-read-anew",
        "a firing whose timer Redis still has under a key that was rotated away is sent at once.",
        breaks="Only a newer version is read anew, and a rotation keeps the version.",
        by=Mutation(
            "_is_resealed",
            "return newest.version >= held.version and newest.notify.sealed != held.notify.sealed",
            "return newest.version >= held.version and newest.version > held.version",
        ),
        red="tests/stages/test_bad_timers.py::test_what_redis_still_has_under_a_key_that_was_rotated_away_is_read_anew_and_sent",
    ),
    Promise(
        "the-url-of-a-call-gets-no-key",
        "a command line that gives the URL of a call as the service's `--url` sends it neither the key nor a secret.",
        breaks="What `--url` names is asked, whatever its path.",
        by=Mutation("_asking", "_refuse_url_of_a_call(url, arguments)", "pass"),
        red=(
            "tests/cli/test_target_commands.py::"
            "test_the_url_of_a_call_is_not_taken_for_that_of_the_service[--target-words0]"
        ),
    ),
    Promise(
        "without-a-key-no-secret-is-stored",
        "without a key to encrypt it, no secret is stored.",
        breaks="Without a key a secret is stored as it is.",
        by=Mutation("Seals.seal", "raise _no_key(call)", "return call"),
        red="tests/store/test_seals.py::test_without_a_key_a_secret_is_refused_by_its_field",
    ),
)
