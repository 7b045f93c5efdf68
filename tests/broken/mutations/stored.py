"""Stored: what a 2xx means."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Stored"
PROMISES = (
    Promise(
        "a-commit-of-sqlite-is-on-the-disk",
        "what the embedded database has committed outlives a power cut.",
        breaks="Only its checkpoints are written through to the disk.",
        by=Mutation(
            "_sqlite_engine.prepare",
            'connection.execute("PRAGMA synchronous=FULL")',
            'connection.execute("PRAGMA synchronous=NORMAL")',
        ),
        red="tests/store/test_database.py::test_what_sqlite_commits_is_on_the_disk",
    ),
    Promise(
        "a-2xx-is-stored",
        "a 2xx of the API means that SQL has committed, and a restart keeps it.",
        breaks="A write ends without a commit.",
        by=(
            Mutation(
                "Database.write.transaction",
                """
                with connection.begin():
                    result = work(connection)
                connection.info[_COMMITTED] = True
                return result
                """,
                "return work(connection)",
            ),
            Mutation(
                "_committing_engine",
                'return create_engine(engine.url, **options, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True)',
                "return create_engine(engine.url, **options)",
            ),
        ),
        red=(
            "tests/store/test_database.py::test_a_read_sees_what_another_process_wrote_just_now[mariadb]",
            "tests/api/test_create.py::test_what_was_created_is_read_back_with_xtimer_s_names",
        ),
    ),
    Promise(
        "a-503-stores-nothing-by-half",
        "a refused or failed change of the API stores nothing; it is one transaction.",
        breaks="Enabling commits the timer's status before it plans.",
        by=Mutation(
            "TimerStore.enable.work",
            """
            near, firings = plan_near(timer)
            self._totals.move(sql, app, counted(enabled_at_once(near)) - counted(timer), now)
            enabled = change(sql, marked(near.timer, near), now, TimerStatus.ENABLED, was=timer)
            """,
            """
            enabled = change(sql, timer, now, TimerStatus.ENABLED)
            sql.commit()
            near, firings = plan_near(timer)
            self._totals.move(sql, app, counted(enabled_at_once(near)) - counted(timer), now)
            """,
        ),
        red="tests/store/test_timers.py::test_a_refusal_to_plan_rolls_everything_back[mariadb]",
    ),
    Promise(
        "a-batch-is-made-with-its-firings",
        "a timer that is made with many others is enabled with its firings, or not there.",
        breaks="The timers of a batch are committed before they are enabled.",
        by=(
            Mutation(
                "Batches._draft_of",
                "return disabled.enabled_by(self.registrar.first_plan(disabled.timer, now))",
                "return disabled",
            ),
            Mutation(
                "Batches._store",
                "created = self.timer_batches.create(app, drafts, now, self.registrar.firings_of)",
                """
                created = self.timer_batches.create(app, drafts, now, self.registrar.firings_of)
                self.enable([one for one in created.timers if isinstance(one, Timer)])
                """,
            ),
        ),
        red="tests/api/v1/test_batch_create.py::test_a_batch_whose_process_died_after_its_first_commit_is_enabled_all_the_same",
    ),
    Promise(
        "a-claim-of-a-key-bears-repeating",
        "each write bears repeating; a request whose claim of its key was committed unheard is carried out.",
        breaks="A claim that is repeated takes its own first commit for another request.",
        by=Mutation(
            "KeptAnswers.claim.work",
            "return None if row.answer == mine else KeptAnswer(row.body_hash, row.answer)",
            "return KeptAnswer(row.body_hash, row.answer)",
        ),
        red="tests/store/test_kept_answers.py::test_a_claim_bears_repeating",
    ),
    Promise(
        "a-demand-bears-repeating",
        "each write bears repeating; a timer fired by hand whose answer was lost fires once.",
        breaks="A repeated transaction inserts another firing at the next free millisecond.",
        by=Mutation(
            "DemandStore.fire_now.work",
            "if made is None or made.fire_at not in taken:",
            "if made is None or made.fire_at in taken:",
        ),
        red="tests/store/test_demands.py::test_a_firing_asked_for_whose_answer_was_lost_is_made_once[mariadb]",
    ),
    Promise(
        "a-prune-of-nothing-asks",
        "no set of timers is deleted because a file has lost its timers.",
        breaks="`apply --prune --yes` takes a file without timers for an order to delete all of the set.",
        by=Mutation(
            "apply",
            "if yes and not allow_empty:",
            "if False:",
        ),
        red="tests/cli/as_code/test_apply.py::test_a_prune_that_leaves_nothing_of_a_set_asks_even_after_yes",
    ),
    Promise(
        "a-timer-is-made-in-one-transaction",
        "a timer is made with its tags, its firings and its kept answer in one transaction.",
        breaks="Each of its statements commits by itself.",
        by=Mutation(
            "TimerStore._create",
            "has_more = has_more or is_marked(definition.schedule) or is_noted()",
            "has_more = False",
        ),
        red="tests/api/v1/test_what_a_create_costs.py::test_what_takes_several_statements_is_one_transaction",
    ),
    Promise(
        "a-timer-is-made-with-its-firings",
        "a refused or failed change of the API stores nothing; it is one transaction.",
        breaks="A timer that is made enabled is committed before its firings.",
        by=Mutation(
            "_insert",
            "note_changes(sql, made.created_at, [creation_of(made)])",
            """
            note_changes(sql, made.created_at, [creation_of(made)])
            sql.commit()
            """,
        ),
        red="tests/store/test_timers.py::test_making_an_enabled_timer_is_one_commit_of_two_statements",
    ),
    Promise(
        "ids-never-come-again",
        "an id of a timer is never given out again, though SQL lost its last commits.",
        breaks="ids are counted from what a process remembers",
        by=Mutation(
            "TimerIds.next",
            "self._last = max(earliest, self._last + 1 + randbelow(LONGEST_STEP))",
            "self._last += 1",
        ),
        red=(
            "tests/store/test_lost_commits.py::test_a_new_timer_is_not_called_by_the_definition_of_one_that_sql_lost",
            "tests/store/test_lost_commits.py::test_an_outcome_parked_for_a_lost_timer_settles_no_other_s_firing",
        ),
    ),
    Promise(
        "nothing-is-recorded-for-a-lost-timer",
        "an outcome of a timer that SQL lost is dropped, with a line in the log.",
        breaks="the flusher writes outcomes whatever SQL knows of their timers",
        by=Mutation(
            "Sweeper._write_together",
            "outcomes = self._of_known_timers(list(found.values()))",
            "outcomes = list(found.values())",
        ),
        red="tests/store/test_lost_commits.py::test_an_outcome_parked_for_a_lost_timer_settles_no_other_s_firing",
    ),
)
