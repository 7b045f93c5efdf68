"""The plans of each use of a store: `table.index` in the order in which its tables are read.

Several plans of one use are those of its statements, or of one that may be read by either index. `insert` has no plan.
"""

# What runs and what waits: each is looked up for itself in the one statement.
RECORDED = "begun_firing.PRIMARY, firing_to_cancel.PRIMARY"
BEGUN_HEADS = "timer.PRIMARY" + 3 * ", begun_firing.begun_in_line, firing.PRIMARY"

EXPECTED: dict[str, frozenset[str]] = {
    "TimerStore.create": frozenset(["idempotency.PRIMARY", "insert"]),
    "TimerStore.create_enabled": frozenset(["insert"]),
    "TimerStore.create: with a limit": frozenset(["app.PRIMARY", "app_total.PRIMARY", "insert"]),
    "TimerStore.get": frozenset(["timer.PRIMARY"]),
    "TimerStore.id_of": frozenset(["timer.timer_app_name"]),
    "TimerStore.page": frozenset(["timer.timer_of_app"]),
    "TimerStore.page: large": frozenset(["timer.timer_of_app"]),
    "TimerStore.enable": frozenset(["insert", "timer.PRIMARY"]),
    "TimerStore.edit": frozenset(["insert", "timer.PRIMARY", "timer_tag.timer_tag_of_timer"]),
    "TimerStore.disable": frozenset(["insert", "timer.PRIMARY"]),
    "TimerStore.delete": frozenset(["timer.PRIMARY", "timer_tag.timer_tag_of_timer"]),
    "TimerStore.to_plan": frozenset(["timer.timer_plan_by"]),
    "TimerStore.first_unplanned": frozenset(["timer.timer_to_plan"]),
    "TimerStore.first_plan_by": frozenset(["timer.timer_plan_by"]),
    "TimerStore.unplanned": frozenset(["timer.timer_to_plan"]),
    "TimerStore.unplanned: without some": frozenset(["timer.timer_to_plan"]),
    "TimerStore.commit_plans": frozenset(["insert", "timer.PRIMARY"]),
    "TimerStore.commit_plans: numbered": frozenset(["firing.PRIMARY", "insert", "timer.PRIMARY"]),
    "TimerStore.definitions": frozenset(["timer.PRIMARY"]),
    "TimerStore.versions": frozenset(["timer.PRIMARY"]),
    "TimerStore.refuse_unknown": frozenset(["timer.PRIMARY"]),
    "TimerStore.known": frozenset(["timer.PRIMARY"]),
    "TimerStore.changed_behind": frozenset(["timer.timer_updated"]),
    "TimerStore.purge": frozenset(["timer.PRIMARY", "timer.timer_deleted"]),
    "TimerBatches.create": frozenset(["insert", "timer.timer_app_name"]),
    "TimerBatches.enable": frozenset(["insert", "timer.PRIMARY"]),
    "TimerBatches.disable": frozenset(["timer.PRIMARY"]),
    "TimerBatches.disable_unread": frozenset(["timer.PRIMARY"]),
    "TimerBatches.delete": frozenset(["timer.PRIMARY", "timer_tag.timer_tag_of_timer"]),
    "TimerBatches.stop_demands": frozenset(["timer.PRIMARY", "timer.timer_of_app"]),
    "TimerLists.page: small, by id": frozenset(["timer.timer_of_app"]),
    "TimerLists.page: small, by name": frozenset(["timer.timer_app_name"]),
    "TimerLists.page: small, by createdAt": frozenset(["timer.timer_of_app"]),
    "TimerLists.page: small, by updatedAt": frozenset(["timer.timer_of_app_updated"]),
    "TimerLists.page: large, by id": frozenset(["timer.timer_of_app"]),
    "TimerLists.page: large, by name": frozenset(["timer.timer_app_name"]),
    "TimerLists.page: large, by createdAt": frozenset(["timer.timer_of_app"]),
    "TimerLists.page: large, by updatedAt": frozenset(["timer.timer_of_app_updated"]),
    "TimerLists.page: name": frozenset(["timer.timer_app_name"]),
    "TimerLists.page: names": frozenset(["timer.timer_app_name"]),
    "TimerLists.page: prefix": frozenset(["timer.timer_app_name"]),
    "TimerLists.page: prefix that few have": frozenset(["timer.timer_app_name"]),
    "TimerLists.page: prefix, by name": frozenset(["timer.timer_app_name"]),
    "TimerLists.page: contains": frozenset(["timer.timer_of_app"]),
    "TimerLists.page: host": frozenset(["timer.timer_of_app", "target.PRIMARY"]),
    "TimerLists.page: status": frozenset(["timer.timer_of_app"]),
    "TimerLists.page: status, by change": frozenset(["timer.timer_of_app_updated"]),
    "TimerLists.page: tag": frozenset(["timer_tag.PRIMARY, timer.PRIMARY", "timer_tag.PRIMARY"]),
    "TimerLists.page: tag, by name": frozenset(["timer_tag.PRIMARY, timer.PRIMARY", "timer_tag.PRIMARY"]),
    "TimerLists.page: tag, by change": frozenset(["timer_tag.PRIMARY, timer.PRIMARY", "timer_tag.PRIMARY"]),
    "TimerLists.page: tag and prefix": frozenset(["timer_tag.PRIMARY, timer.PRIMARY", "timer_tag.PRIMARY"]),
    "TimerLists.page: next moment": frozenset(
        ["timer.timer_of_app", "timer.timer_of_app, firing.firing_of_timer"]
    ),
    "TimerLists.page: next page": frozenset(["timer.timer_of_app"]),
    "TimerLists.page: by change, next page": frozenset(["timer.timer_of_app_updated"]),
    "TimerLists.page: numbered": frozenset(["timer.timer_of_app"]),
    "TimerLists.page: all apps": frozenset(["timer.PRIMARY"]),
    "TimerLists.count": frozenset(["timer.timer_of_app"]),
    "TimerLists.count: status": frozenset(["timer.timer_of_app"]),
    "TimerLists.chosen": frozenset(["timer.timer_of_app"]),
    "TimerLists.chosen: large": frozenset(["timer.timer_of_app"]),
    "TimerLists.unknown": frozenset(["timer.timer_app_name"]),
    "TimerLists.of_ids": frozenset(["timer.PRIMARY"]),
    "TimerLists.apps_of": frozenset(["timer.PRIMARY"]),
    "TimerLists.labels_of": frozenset(["timer.PRIMARY"]),
    "TimerLists.known": frozenset(["timer.PRIMARY"]),
    "FiringStore.rows": frozenset(["firing.PRIMARY"]),
    "FiringStore.rows: scattered": frozenset(["firing.PRIMARY"]),
    "FiringStore.rows: one": frozenset(["firing.PRIMARY"]),
    "FiringStore.pending_of": frozenset(["firing.firing_due"]),
    "FiringStore.tallies": frozenset(["firing.firing_due"]),
    "FiringStore.pending_between": frozenset(["firing.firing_due"]),
    "FiringStore.pending_between: next page": frozenset(["firing.firing_due"]),
    "FiringStore.pending_between: in lanes": frozenset(["firing.firing_due"]),
    "FiringStore.pending_between: in lanes, next page": frozenset(["firing.firing_due"]),
    "FiringStore.pending_between: of some lanes, next page": frozenset(["firing.firing_due"]),
    "FiringStore.pending_between: past those in lanes": frozenset(["firing.firing_due"]),
    "FiringStore.pending_between: in none": frozenset(["firing.firing_due"]),
    "FiringStore.note_lanes": frozenset(["firing.PRIMARY"]),
    "FiringStore.note_lanes: one": frozenset(["firing.PRIMARY"]),
    "FiringStore.overdue": frozenset(["firing.firing_due"]),
    "FiringStore.records": frozenset(["firing.firing_of_timer"]),
    "FiringStore.records: before": frozenset(["firing.firing_of_timer"]),
    "FiringStore.settle": frozenset(["firing.PRIMARY", "firing.PRIMARY, timer.PRIMARY", "insert"]),
    "FiringStore.oldest_moment": frozenset(["one end of an index"]),
    "FiringStore.oldest_settled": frozenset(["firing.PRIMARY"]),
    "FiringStore.purge": frozenset(["attempt.PRIMARY, firing.PRIMARY", "firing.PRIMARY"]),
    "FiringStore.purge: a part": frozenset(["attempt.PRIMARY, firing.PRIMARY", "firing.PRIMARY"]),
    "FiringLists.page: small app": frozenset(
        ["firing.firing_of_timer", "one end of an index", "timer.timer_of_app"]
    ),
    "FiringLists.page: large app": frozenset(
        ["firing.PRIMARY, timer.PRIMARY", "one end of an index", "timer.timer_of_app"]
    ),
    "FiringLists.page: one timer": frozenset(
        ["firing.firing_of_timer", "one end of an index", "timer.PRIMARY"]
    ),
    "FiringLists.page: large app, failed": frozenset(
        ["firing.firing_due, timer.PRIMARY", "one end of an index", "timer.timer_of_app"]
    ),
    "FiringLists.page: small app, failed": frozenset(
        [
            "firing.firing_due",
            "firing.firing_due|firing_of_timer",
            "firing.firing_of_timer",
            "one end of an index",
            "timer.timer_of_app",
        ]
    ),
    "FiringLists.page: one timer, failed": frozenset(
        ["firing.firing_of_timer", "one end of an index", "timer.PRIMARY"]
    ),
    "FiringLists.page: large app, late": frozenset(
        ["firing.PRIMARY, timer.PRIMARY", "one end of an index", "timer.timer_of_app"]
    ),
    "FiringLists.page: tag of few": frozenset(
        ["firing.firing_of_timer", "one end of an index", "timer_tag.PRIMARY"]
    ),
    "FiringLists.page: tag of many": frozenset(
        ["firing.PRIMARY, timer_tag.PRIMARY", "one end of an index", "timer_tag.PRIMARY"]
    ),
    "FiringLists.page: next page": frozenset(
        ["firing.PRIMARY, timer.PRIMARY", "one end of an index", "timer.timer_of_app"]
    ),
    "FiringLists.one": frozenset(["firing.PRIMARY"]),
    "FiringLists.count": frozenset(
        ["firing.PRIMARY, timer.PRIMARY", "one end of an index", "timer.timer_of_app"]
    ),
    "FiringLists.count: failed": frozenset(
        ["firing.firing_due, timer.PRIMARY", "one end of an index", "timer.timer_of_app"]
    ),
    "FiringLists.oldest": frozenset(
        [
            "firing.firing_due",
            "firing.firing_due|firing_of_timer",
            "firing.firing_of_timer",
            "one end of an index",
            "timer.timer_of_app",
        ]
    ),
    "FiringLists.living": frozenset(["timer.PRIMARY"]),
    "FiringLists.last_outcomes": frozenset(["firing.firing_of_timer", "no such row, firing.firing_of_timer"]),
    "FiringLists.latest_scheduled": frozenset(
        ["firing.firing_of_timer", "no such row, firing.firing_of_timer"]
    ),
    "FiringLists.by_status": frozenset(
        ["firing.PRIMARY, timer.PRIMARY", "one end of an index", "timer.timer_of_app"]
    ),
    "DemandStore.fire_now": frozenset(["firing.firing_of_timer", "insert", "timer.PRIMARY"]),
    "DemandStore.replay": frozenset(
        ["dead_letter.dead_letter_of_firing", "firing.PRIMARY", "firing_to_cancel.PRIMARY", "insert"]
    ),
    "DemandStore.cancel": frozenset(["firing.PRIMARY", "insert", "no such row", "timer.PRIMARY"]),
    "DemandStore.missing": frozenset(["firing.firing_of_timer"]),
    "AcceptedFirings.find": frozenset(["firing.PRIMARY, no such row"]),
    "AcceptedFirings.overdue": frozenset(["firing.firing_due, firing_to_cancel.PRIMARY"]),
    "AcceptedFirings.end": frozenset(["firing.PRIMARY", "insert"]),
    "AcceptedFirings.prolong": frozenset(["firing.PRIMARY", "firing.PRIMARY, no such row"]),
    "AcceptedFirings.acknowledge": frozenset(["firing.PRIMARY", "firing.PRIMARY, no such row"]),
    "BegunFirings.judge": frozenset(
        ["timer.PRIMARY", BEGUN_HEADS, "begun_firing.PRIMARY", RECORDED, "firing.PRIMARY", "insert"]
    ),
    # One key in an empty table: the server sees it without a plan.
    "BegunFirings.judge: one": frozenset(
        ["timer.PRIMARY", BEGUN_HEADS, "begun_firing.PRIMARY", "firing.PRIMARY", "insert", ""]
    ),
    "BegunFirings.end": frozenset(
        [
            "timer.PRIMARY",
            "timer.PRIMARY, begun_firing.begun_in_line",
            BEGUN_HEADS,
            "begun_firing.PRIMARY",
            "firing.PRIMARY",
            "insert",
        ]
    ),
    "BegunFirings.page": frozenset(["begun_firing.PRIMARY"]),
    "FiringsToCancel.page": frozenset(["firing_to_cancel.PRIMARY"]),
    "FiringsToCancel.cancel": frozenset(["firing.PRIMARY", "firing_to_cancel.PRIMARY"]),
    "ContinuityStore.before": frozenset(["firing.firing_of_timer"]),
    "ContinuityStore.before: none succeeded": frozenset(["firing.firing_of_timer"]),
    "DeadLetterStore.page": frozenset(["dead_letter.PRIMARY", "one end of an index"]),
    "DeadLetterStore.page: next page": frozenset(["dead_letter.PRIMARY", "one end of an index"]),
    "DeadLetterStore.page: a reason": frozenset(["dead_letter.PRIMARY", "one end of an index"]),
    "DeadLetterStore.page: all apps": frozenset(["dead_letter.dead_letter_failed", "one end of an index"]),
    "DeadLetterStore.count: all apps": frozenset(["dead_letter.dead_letter_failed", "one end of an index"]),
    "DeadLetterStore.oldest": frozenset(["dead_letter.PRIMARY", "one end of an index"]),
    "DeadLetterStore.oldest: living": frozenset(
        ["dead_letter.PRIMARY, timer.PRIMARY", "one end of an index"]
    ),
    "DeadLetterStore.number_after": frozenset(["dead_letter.PRIMARY", "one end of an index"]),
    "DeadLetterStore.of": frozenset(["dead_letter.dead_letter_of_firing"]),
    "DeadLetterStore.count": frozenset(["dead_letter.PRIMARY", "one end of an index"]),
    "DeadLetterStore.discard": frozenset(["dead_letter.dead_letter_of_firing"]),
    "DeadLetterStore.purge": frozenset(["dead_letter.PRIMARY", "app.PRIMARY, dead_letter.PRIMARY"]),
    "DemandStore.backfill": frozenset(["firing.firing_of_timer", "insert", "timer.PRIMARY"]),
    "FinishedTimers.kept_days": frozenset(["timer.timer_finished"]),
    "FinishedTimers.delete_page": frozenset(
        [
            "firing.firing_of_timer",
            "reply_control.PRIMARY",
            "timer.PRIMARY",
            "timer.timer_finished",
            "timer_tag.timer_tag_of_timer",
        ]
    ),
    "FinishedTimers.delete_page: of some days": frozenset(
        [
            "firing.firing_of_timer",
            "reply_control.PRIMARY",
            "timer.PRIMARY",
            "timer.timer_finished",
            "timer_tag.timer_tag_of_timer",
        ]
    ),
    "FinishedTimers.delete_page: failed": frozenset(
        [
            "firing.firing_of_timer",
            "no such row, firing.firing_of_timer",
            "dead_letter.dead_letter_of_firing",
            "reply_control.PRIMARY",
            "timer.PRIMARY",
            "timer.timer_finished",
        ]
    ),
    "FinishedTimers.delete_page: none": frozenset(["timer.timer_finished"]),
    "CalendarFollowers.uploads_to_follow": frozenset(["calendar.calendar_followed"]),
    "CalendarFollowers.calendar": frozenset(["calendar.PRIMARY"]),
    "CalendarFollowers.refuse_growth": frozenset(
        ["app.PRIMARY", "app_total.PRIMARY", "calendar.PRIMARY", "timer.timer_follows"]
    ),
    "CalendarFollowers.progress": frozenset(["calendar.PRIMARY", "timer.timer_follows"]),
    "CalendarFollowers.follow": frozenset(
        ["app.PRIMARY", "app_total.PRIMARY", "calendar.PRIMARY", "timer.PRIMARY", "timer.timer_follows"]
    ),
    "CalendarFollowers.follow: refused": frozenset(
        ["calendar.PRIMARY", "timer.PRIMARY", "timer.timer_follows"]
    ),
    "CalendarFollowers.follow: the same days": frozenset(
        ["calendar.PRIMARY", "timer.PRIMARY", "timer.timer_follows"]
    ),
    "CalendarFollowers.follow: the last": frozenset(
        ["calendar.PRIMARY", "timer.PRIMARY", "timer.timer_follows"]
    ),
    "AttemptStore.history": frozenset(["attempt.PRIMARY", "firing.PRIMARY"]),
    "KeptAnswers.find": frozenset(["idempotency.PRIMARY"]),
    "KeptAnswers.claim": frozenset(["idempotency.PRIMARY", "insert"]),
    "KeptAnswers.claim: held": frozenset(["idempotency.PRIMARY", "insert"]),
    "KeptAnswers.end_claim": frozenset(["idempotency.PRIMARY", "insert"]),
    "KeptAnswers.end_claim: kept": frozenset(["idempotency.PRIMARY", "insert"]),
    "KeptAnswers.purge": frozenset(["idempotency.idempotency_created"]),
    "SigningStore.needed": frozenset(["insert", "signing.PRIMARY"]),
    "SigningStore.present": frozenset(["signing.PRIMARY"]),
    "SigningStore.get": frozenset(["signing.PRIMARY"]),
    "SigningStore.to_show": frozenset(["signing.PRIMARY"]),
    "SigningStore.change": frozenset(["signing.PRIMARY"]),
    "SigningStore.change: the first": frozenset(["insert", "no such row", "signing.PRIMARY"]),
    "SigningStore.seal_anew": frozenset(["signing.PRIMARY"]),
    "SigningStore.apps_behind": frozenset(["signing.PRIMARY"]),
    "SigningStore.changed_behind": frozenset(["signing.signing_updated"]),
    "TargetStore.change": frozenset(["target.PRIMARY"]),
    "TargetStore.change: to another host": frozenset(["target.PRIMARY", "timer.timer_of_target"]),
    "TargetStore.change: made": frozenset(["insert", "no such row", "target.PRIMARY"]),
    "TargetStore.get": frozenset(["target.PRIMARY"]),
    "TargetStore.page": frozenset(["target.PRIMARY"]),
    "TargetStore.stored": frozenset(["target.PRIMARY"]),
    "TargetStore.timers_of": frozenset(["timer.timer_of_target"]),
    "TargetStore.changed_behind": frozenset(["target.target_updated"]),
    "TargetStore.keys_behind": frozenset(["target.PRIMARY"]),
    "TargetStore.seal_anew": frozenset(["target.PRIMARY"]),
    "TargetStore.remove": frozenset(["target.PRIMARY", "timer.timer_of_target"]),
    "ClientCertificates.put: the first": frozenset(["client_certificate.PRIMARY", "insert", "no such row"]),
    "ClientCertificates.put": frozenset(["client_certificate.PRIMARY"]),
    "ClientCertificates.chain_of": frozenset(["client_certificate.PRIMARY"]),
    "ClientCertificates.ending": frozenset(["client_certificate.client_certificate_expires"]),
    "ClientCertificates.seal_anew": frozenset(["client_certificate.PRIMARY"]),
    "ClientCertificates.apps_behind": frozenset(["client_certificate.PRIMARY"]),
    "ClientCertificates.remove": frozenset(["client_certificate.PRIMARY"]),
    "AuditLog.page": frozenset(["audit.audit_at"]),
    "AuditLog.page: next page": frozenset(["audit.audit_at"]),
    "AuditLog.page: app": frozenset(["audit.audit_of_app"]),
    "AuditLog.page: key": frozenset(["audit.audit_of_key"]),
    "AuditLog.page: kind": frozenset(["audit.audit_of_kind"]),
    # Nothing was done to keys.
    "AuditLog.page: app's kind": frozenset(["no such row"]),
    "AuditLog.page: app's timers": frozenset(["one end of an index", "audit.audit_of_app"]),
    "AuditLog.page: key's kind": frozenset(["one end of an index", "audit.audit_of_key"]),
    "AuditLog.page: subject": frozenset(["audit.audit_of_subject"]),
    "AuditLog.purge": frozenset(["audit.audit_at"]),
    "CalendarStore.put": frozenset(["calendar.PRIMARY", "insert"]),
    "CalendarStore.get": frozenset(["calendar.PRIMARY"]),
    "CalendarStore.all_of": frozenset(["calendar.PRIMARY"]),
    "CalendarStore.timers_of": frozenset(["timer.timer_follows"]),
    "CalendarStore.named": frozenset(["timer.timer_follows"]),
    "CalendarStore.is_of_enabled": frozenset(["timer.timer_follows"]),
    "CalendarStore.remove": frozenset(["calendar.PRIMARY"]),
    "PlannedLoad.minutes": frozenset(["firing.firing_due, timer.PRIMARY"]),
    "PlannedLoad.first_unplanned": frozenset(["one end of an index"]),
    "TotalCounts.to_count": frozenset(["app.app_counted"]),
    "TotalCounts.count": frozenset(
        ["app.PRIMARY", "app_total.PRIMARY", "insert", "app.PRIMARY, timer.timer_of_app, app_total.PRIMARY"]
    ),
    "TotalCounts.forget": frozenset(["app.PRIMARY", "app_total.PRIMARY"]),
    "AlertMessages.ask_test": frozenset(
        ["alert_rule.PRIMARY", "alert_message.alert_message_of_rule", "insert"]
    ),
    "AlertMessages.take": frozenset(
        [
            "alert_message.alert_message_due, alert_rule.PRIMARY, older.alert_message_of_rule",
            "alert_message.PRIMARY",
        ]
    ),
    # The rules of these messages are not there.
    "AlertMessages.put_off": frozenset(["alert_message.PRIMARY", "alert_rule.PRIMARY", "no such row"]),
    "AlertMessages.end": frozenset(["alert_message.PRIMARY", "alert_rule.PRIMARY", "no such row"]),
    "AlertMessages.answer": frozenset(["alert_message.PRIMARY"]),
    "AlertMessages.answer_of": frozenset(["alert_message.PRIMARY"]),
    "AlertMessages.overdue": frozenset(["older.alert_message_of_rule, alert_message.alert_message_due"]),
    "AlertMessages.forget_tests": frozenset(["alert_message.alert_message_due", "alert_message.PRIMARY"]),
    "AlertRuleStore.page": frozenset(["alert_rule.PRIMARY"]),
    "AlertRuleStore.get": frozenset(["alert_rule.PRIMARY"]),
    "AlertRuleStore.put": frozenset(["no such row", "alert_rule.PRIMARY", "insert"]),
    "AlertRuleStore.put:moved": frozenset(
        ["alert_rule.PRIMARY", "alert_message.alert_message_of_rule", "alert.PRIMARY", "insert"]
    ),
    "AlertRuleStore.remove": frozenset(
        ["alert_rule.PRIMARY", "alert.PRIMARY", "alert_message.alert_message_of_rule", "insert"]
    ),
    "AlertRuleStore.alerted": frozenset(["alert_rule.PRIMARY", "alert.alert_of_timer"]),
    "AlertRuleStore.keys_behind": frozenset(["alert_rule.PRIMARY"]),
    "AlertRuleStore.seal_anew": frozenset(["alert_rule.PRIMARY"]),
    "AlertTroubles.next_app": frozenset(["alert_note.PRIMARY"]),
    "AlertTroubles.judge": frozenset(
        [
            "alert_note.PRIMARY",
            "alert_rule.PRIMARY",
            "alert.PRIMARY",
            "alert.alert_of_timer",
            "alert_message.PRIMARY",
            "alert_message.alert_message_of_rule",
            "firing.PRIMARY",
            "firing.firing_of_timer",
            "timer.PRIMARY",
            "insert",
        ]
    ),
    "AlertTroubles.next_troubled": frozenset(["alert.PRIMARY"]),
    "AlertTroubles.look": frozenset(
        ["alert.PRIMARY", "alert_rule.PRIMARY", "firing.firing_of_timer", "timer.PRIMARY"]
    ),
}

# Rows that each statement may read, where a page is to cost no more in an app with a million timers.
MOST_READ: dict[str, int] = {
    "TimerLists.page: large, by id": 100,
    "TimerLists.page: large, by name": 600,
    "TimerLists.page: large, by createdAt": 100,
    "TimerLists.page: large, by updatedAt": 100,
    "TimerLists.page: name": 100,
    "TimerLists.page: names": 100,
    "TimerLists.page: prefix that few have": 300,
    "TimerLists.page: prefix, by name": 600,
    "TimerLists.page: next page": 100,
    "TimerLists.page: by change, next page": 100,
    "TimerLists.page: all apps": 600,
}
