"""Bad neighbours: bad timers and rows, firings that are held, and an SQL that hangs."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Bad neighbours"
PROMISES = (
    Promise(
        "a-bad-row-harms-no-other",
        "a timer whose row cannot be read harms no other; the others are planned, listed and fired.",
        breaks="One row that cannot be read spoils the reading of all.",
        by=Mutation(
            "read_rows",
            """
            try:
                found[row["id"]] = read(row)
            except Exception as error:
                found.bad[row["id"]] = reason_of("its row cannot be read", error)
            """,
            'found[row["id"]] = read(row)',
        ),
        red="tests/store/test_bad_rows.py::test_one_row_that_cannot_be_read_is_noted_and_the_others_are_read[sqlite-bound]",
    ),
    Promise(
        "a-bad-timer-harms-no-other",
        "a timer that cannot be judged harms no other; its neighbours are on time.",
        breaks="What raises while a chunk is judged puts back the whole chunk.",
        by=Mutation(
            "_seems_wanted",
            """
            try:
                return _is_wanted(definition, member)
            except Exception:
                return False
            """,
            "return _is_wanted(definition, member)",
        ),
        red="tests/stages/test_bad_timers.py::test_the_neighbours_of_a_timer_that_cannot_be_judged_are_on_time",
    ),
    Promise(
        "a-dead-letter-is-its-apps-own",
        "what has failed for good is listed by its own app, and by no other",
        breaks="The text of a named target is written before the others, so each stands one column on",
        by=(
            Mutation(
                "_written",
                '"""Write a letter, in the order of the table\'s columns: so its texts are written too."""',
                '''
                """Write a letter, in the order of the table's columns: so its texts are written too."""
                target = "NULL" if one.target is None else texts.write(one.target)
                ''',
            ),
            Mutation(
                "_written",
                "f\"{'NULL' if letter.target is None else texts.write(letter.target)},\"",
                'f"{target},"',
            ),
        ),
        red="tests/store/test_dead_letters.py::test_one_of_a_named_target_has_each_text_in_its_place",
    ),
    Promise(
        "a-firing-that-is-held-holds-up-no-other-timer",
        "a firing whose row is held for long holds up no other timer whose firings are not to overlap.",
        breaks="Judging waits for it, and all that come with it wait too.",
        by=Mutation(
            "_FREE",
            "_FREE = KeyedStatement(asked_for(*_COLUMNS).with_for_update(skip_locked=True))",
            "_FREE = KeyedStatement(asked_for(*_COLUMNS).with_for_update())",
        ),
        red=(
            "tests/store/test_begun_firings.py::test_a_firing_that_somebody_else_holds_holds_up_no_other_timer",
            "tests/store/test_begun_firings.py::test_an_older_one_that_somebody_else_holds_does_not_hold_up_the_newer_one",
        ),
    ),
    Promise(
        "a-timer-that-is-held-holds-up-no-other",
        "a timer whose row is held for long holds up no other one whose firings are not to overlap.",
        breaks="Judging waits for it, and all that come with it wait too.",
        by=Mutation(
            "_lock_timers",
            'locking = by_index(locking, "PRIMARY", timers).with_for_update(skip_locked=True)',
            'locking = by_index(locking, "PRIMARY", timers).with_for_update()',
        ),
        red="tests/store/test_begun_firings.py::test_a_timer_that_somebody_else_holds_holds_up_no_other",
    ),
    Promise(
        "an-sql-that-hangs-is-asked-by-few",
        "an SQL that hangs is asked by few at a time, so that few threads wait for it.",
        breaks="Everybody asks.",
        by=Mutation(
            "Verifier.read",
            """
            if self.sql_rest.lasts(self.clock):
                return None
            """,
            "",
        ),
        red="tests/stages/test_hung_sql.py::test_an_sql_that_hangs_is_asked_by_few",
    ),
    Promise(
        "following-holds-rows-for-a-moment",
        "timers that follow a calendar hold their rows for parts of a second, however dear they are.",
        breaks="A transaction takes up all of its page.",
        by=Mutation(
            "InTime.__iter__",
            """
            if self._is_time_over():
                return
            """,
            "self._is_time_over()",
        ),
        red="tests/api/v1/test_following.py::test_a_transaction_ends_by_time_and_the_next_goes_on[sqlite]",
    ),
    Promise(
        "many-older-ones-do-not-hold-up-the-newer-one",
        "a firing that cancels very many older ones cancels a few at once, and the rest are left to a sweep.",
        breaks="All that is on record is cancelled in the transaction that lets the newer one go.",
        by=Mutation("firings_to_cancel.py", "MOST_AT_ONCE = 500", "MOST_AT_ONCE = 1_000_000"),
        red="tests/store/test_begun_firings.py::test_of_many_older_ones_the_last_are_cancelled_at_once_and_the_rest_a_few_at_a_time",
    ),
    Promise(
        "many-older-ones-hold-up-no-other",
        "very many older firings that one of them cancels hold up no firing of another timer.",
        breaks="A firing is judged though not all that is older than it could be noted.",
        by=Mutation(
            "BegunFirings.judge.work",
            "if too_many := note_oldest(sql, held.cancels) if len(last) == MOST_AT_ONCE else []:",
            "if too_many := note_oldest(sql, held.cancels) if not held.cancels else []:",
        ),
        red="tests/store/test_begun_firings.py::test_more_older_ones_than_one_transaction_may_move_hold_up_no_firing_of_another_timer",
    ),
    Promise(
        "planning-gives-way-to-calls",
        "while calls come close to their moments, planning beyond the near future rests.",
        breaks="It takes all the CPU it can get, however late calls are.",
        by=Mutation("Migrator._rests_after", "if not times or not self.is_strained():", "if True:"),
        red=(
            "tests/stages/test_migrator.py::test_in_strain_the_far_future_is_planned_in_parts_with_rests_and_what_comes_near_goes_first",
            "tests/stages/test_migrator.py::test_in_strain_one_timer_that_is_near_lets_no_others_of_its_page_go_on_without_rest",
        ),
    ),
    Promise(
        "what-is-judged-stands",
        "firings that are judged stand, though SQL stumbles over those that come with them and that others hold.",
        breaks="All of them wait, though what was judged is written.",
        by=Mutation(
            "BegunFirings.judge",
            """
            if not judged:
                raise
            break  # what is judged stands
            """,
            "raise",
        ),
        red="tests/store/test_begun_firings.py::test_what_was_judged_or_woken_stands_though_sql_stumbles_over_what_others_hold",
    ),
    Promise(
        "what-sql-is-not-asked-about-goes-first",
        "while SQL hangs, a firing that it must be asked about makes no other of its chunk late.",
        breaks="What is sure waits for what SQL says of the others.",
        by=(
            Mutation(
                "Executor._fire_part",
                """
                if plain:
                    self._send(claim, plain, deaths, most, fired)
                if case.asked:
                """,
                "if case.asked:",
            ),
            Mutation(
                "Executor._fire_part",
                "return number",
                """
                if plain:
                    self._send(claim, plain, deaths, most, fired)
                return number
                """,
            ),
        ),
        red="tests/stages/test_hung_sql.py::test_while_sql_hangs_the_neighbours_of_what_is_asked_about_are_on_time",
    ),
)
