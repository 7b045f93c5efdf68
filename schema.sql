-- WangTimer's tables, for MySQL 8 and MariaDB 10.11: load this into an empty database, then start the processes.
-- Every moment is ms since 1970-01-01 UTC. (SQLite, the embedded default, makes its tables by itself.)

-- the business services that have timers; an app stays when it is disabled
CREATE TABLE app (
    name VARCHAR(64) NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- when it was disabled; NULL: it is not
    disabled_at BIGINT,
    -- JSON object of the bounds that an operator set, null without any
    limits MEDIUMTEXT,
    -- JSON object of what an operator set for its way out, null without any
    egress MEDIUMTEXT,
    -- when its timers were last counted for its total; 0: its total is not kept
    counted_at BIGINT NOT NULL DEFAULT 0,
    -- name of its own queue, null without one
    queue VARCHAR(32),
    -- JSON object of when its failed calls are made again, null: as the deployment does
    retry VARCHAR(2048),
    -- days for which what failed for good is listed, null: as many as its firings
    dead_letter_days SMALLINT,
    PRIMARY KEY (name),
    -- apps whose totals are old
    KEY app_counted (counted_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- of an app with a limit of them: its living timers, and the firings a day of those that are enabled and have moments
-- left to plan; each is the sum over the app's slots, of which one may be below 0
CREATE TABLE app_total (
    app VARCHAR(64) NOT NULL,
    slot SMALLINT NOT NULL,
    timers BIGINT NOT NULL DEFAULT 0,
    firings_a_day BIGINT NOT NULL DEFAULT 0,
    -- that calls and excluded days take
    bytes BIGINT NOT NULL DEFAULT 0,
    -- the limits by which the total was divided over the slots; -1: by none
    most_timers BIGINT NOT NULL DEFAULT -1,
    most_firings BIGINT NOT NULL DEFAULT -1,
    most_bytes BIGINT NOT NULL DEFAULT -1,
    PRIMARY KEY (app, slot)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- what operators paused
CREATE TABLE pause (
    -- all; or app:, host: or timer: with an app, a host and port, or an id
    name VARCHAR(300) NOT NULL,
    -- whose it is; NULL: no single app's
    app VARCHAR(64),
    since BIGINT NOT NULL,
    reason VARCHAR(255) NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- hosts that failed each call of an app for days: its calls to them are made no more
CREATE TABLE disabled_host (
    app VARCHAR(64) NOT NULL,
    -- scheme, host and port
    origin VARCHAR(300) NOT NULL,
    -- the first failure that no answer followed
    since BIGINT NOT NULL,
    -- the last failure before it was disabled
    failed_at BIGINT NOT NULL,
    disabled_at BIGINT NOT NULL,
    -- of the last call before
    error VARCHAR(255) NOT NULL,
    -- when it answered, or somebody enabled it: its days count from then; NULL: it is disabled
    enabled_at BIGINT,
    PRIMARY KEY (app, origin)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- what answers make of their timers, until that is done
CREATE TABLE reply_control (
    timer_id BIGINT NOT NULL,
    -- of the firing that was answered
    fire_at BIGINT NOT NULL,
    -- the timer's version, a word, and a moment
    control VARCHAR(40) NOT NULL,
    PRIMARY KEY (timer_id, fire_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- firings that have begun, or wait for one that has, of timers whose firings are not to overlap; which of them have no
-- outcome yet, their own rows say
CREATE TABLE begun_firing (
    timer_id BIGINT NOT NULL,
    fire_at BIGINT NOT NULL,
    -- 1: it waits until another one is done
    is_waiting SMALLINT NOT NULL,
    PRIMARY KEY (timer_id, fire_at),
    -- the newest of a timer that runs, and the first that waits
    KEY begun_in_line (timer_id, is_waiting, fire_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- firings that had begun when a newer one of their timer did, and that are to be cancelled for it; which of them have no
-- outcome yet, their own rows say
CREATE TABLE firing_to_cancel (
    timer_id BIGINT NOT NULL,
    fire_at BIGINT NOT NULL,
    -- the moment of the newer one
    cancelled_by BIGINT NOT NULL,
    PRIMARY KEY (timer_id, fire_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- limits of calls to target hosts, over all apps
CREATE TABLE host_limit (
    -- a host and port; *: every other
    host VARCHAR(300) NOT NULL,
    calls_per_second BIGINT,
    calls_at_once BIGINT,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (host)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- by which rules of time zones and built-in calendars timers are planned: one row
CREATE TABLE schedule_rules (
    id SMALLINT NOT NULL,
    -- those of the packages that hold them
    version VARCHAR(64) NOT NULL,
    -- JSON: a digest of the rules of each zone and calendar, by its name; "" where timers may have moments of others
    digests MEDIUMTEXT NOT NULL,
    -- when a process that plans was there
    seen_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- the keys by which apps and operators call the API
CREATE TABLE api_key (
    id VARCHAR(12) NOT NULL,
    -- NULL: an operator's
    app VARCHAR(64),
    name VARCHAR(128) NOT NULL,
    -- SHA-256 of the key, in hexadecimal
    fingerprint VARCHAR(64) NOT NULL,
    -- words with a space between
    scopes VARCHAR(512) NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    -- written once a minute at most
    last_used_at BIGINT,
    PRIMARY KEY (id),
    -- an app's keys
    INDEX api_key_of_app (app, id),
    -- those that end soonest
    INDEX api_key_expires (expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- who changed what; a row stays as it was written, until its retention is over
CREATE TABLE audit (
    id BIGINT NOT NULL AUTO_INCREMENT,
    at BIGINT NOT NULL,
    -- the key by which it was asked for; NULL: it needed none, and the name says why
    key_id VARCHAR(12),
    key_name VARCHAR(128) NOT NULL,
    -- the app whose key it is; NULL: an operator's
    key_app VARCHAR(64),
    address VARCHAR(64) NOT NULL,
    action VARCHAR(16) NOT NULL,
    -- timer, firing, calendar, app or key
    kind VARCHAR(16) NOT NULL,
    -- an id, of a firing its timer's; the name of an app or a calendar
    subject VARCHAR(128) NOT NULL,
    -- whose it is; NULL: the operators'
    app VARCHAR(64),
    -- of a timer or a key
    name VARCHAR(128),
    -- JSON list of the names of changed fields, null without any; never a value
    fields VARCHAR(1024),
    old_status VARCHAR(16),
    new_status VARCHAR(16),
    -- of a firing
    fire_at BIGINT,
    PRIMARY KEY (id),
    -- lists read these backwards; purge deletes along the first
    INDEX audit_at (at),
    INDEX audit_of_app (app, at),
    INDEX audit_of_key (key_id, at),
    INDEX audit_of_subject (subject, at),
    INDEX audit_of_kind (kind, at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE timer (
    id BIGINT NOT NULL AUTO_INCREMENT,
    app VARCHAR(64) NOT NULL,
    name VARCHAR(128) NOT NULL,
    -- 0 while the timer lives, its id once deleted, so that deleting frees the name
    tombstone BIGINT NOT NULL DEFAULT 0,
    status ENUM('disabled', 'enabled', 'deleted') NOT NULL,
    -- a cron expression with its zone, or an interval with its anchor and zone, or one moment
    cron VARCHAR(128),
    timezone VARCHAR(64) NOT NULL,
    every_ms BIGINT,
    anchor_ms BIGINT,
    at_ms BIGINT,
    -- start, end, number of firings, excluded days, spread, cancelled moments: JSON, null without any
    bounds MEDIUMTEXT,
    -- the name of the excluded days' calendar
    calendar VARCHAR(64),
    -- the upload that the days come from: its updated_at; 0 if unknown, negative if they could not be taken over
    calendar_at BIGINT NOT NULL DEFAULT 0,
    -- the HTTP call to make: JSON {url, method, headers, body}; with secrets: masked, and the secrets encrypted
    notify MEDIUMTEXT NOT NULL,
    -- the name of the target that the call goes through
    target VARCHAR(64) NULL,
    -- of its rule, on a day on which it fires; 0 for a one-shot
    firings_a_day BIGINT NOT NULL DEFAULT 0,
    -- when the timer was last switched from enabled to disabled or deleted, 0 = never:
    -- firings asked for before are stopped, those asked for afterwards are fired
    disabled_at BIGINT NOT NULL DEFAULT 0,
    -- its versions from `followed_from` to `followed_to` differ only in what a calendar or the rules of its zone made of
    -- them
    followed_from BIGINT NOT NULL DEFAULT 0,
    followed_to BIGINT NOT NULL DEFAULT 0,
    -- grows with every change
    version BIGINT NOT NULL,
    -- when the schedule last changed, and when it had changed the time before; 0 = never
    edited_before_at BIGINT NOT NULL DEFAULT 0,
    edited_at BIGINT NOT NULL,
    -- every moment up to here has its row in `firing`; next_fire_at is the first moment after it
    planned_until BIGINT NOT NULL,
    next_fire_at BIGINT,
    -- the timer is planned again once this is less than a step ahead: next_fire_at, or later for a dense timer
    plan_by BIGINT DEFAULT 0,
    -- the last number that was given to a planned firing; 0: none was
    planned_seq BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- what to do with firings that are later than the grace; none is fired past the window (0: no such bound)
    misfire ENUM('fire_all', 'fire_latest', 'skip') NOT NULL,
    misfire_grace_ms BIGINT NOT NULL,
    catchup_window_ms BIGINT NOT NULL,
    -- how long a call may take from when it is sent to its whole answer; NULL, here and in the next two: as the
    -- deployment's calls have it
    timeout_ms BIGINT,
    -- how long it may take to open a connection: name look-up, TCP and TLS
    connect_timeout_ms BIGINT,
    -- how long the first byte of the answer may take, from when the call is sent
    first_byte_timeout_ms BIGINT,
    -- how long a target that answered 202 may take until it says that it is done; NULL: 202 is done
    ack_timeout_ms BIGINT,
    -- JSON list; timer_tag has them too, for look-ups
    tags VARCHAR(2048),
    -- days for which the timer is kept once it is finished; 0: no longer than its last outcome; NULL: the setting's
    keep_days SMALLINT,
    -- when the start of a target's answer is kept on record; NULL: always
    keep_output ENUM('always', 'onFailure', 'never'),
    -- JSON: when a failed call is tried again, without what is as usual; NULL: as its target says, else the deployment
    retry VARCHAR(2048),
    -- how its call is written and what its answer may do, in words (core/timers/call_form.py); NULL: as given
    call_form VARCHAR(64),
    -- what becomes of a firing while another one is not done; NULL: it is made
    overlap ENUM('allow', 'skip', 'queueOne', 'cancelOlder'),
    PRIMARY KEY (id),
    CONSTRAINT timer_app_name UNIQUE (app, name, tombstone),
    -- planning reads only timers that come due within a step
    INDEX timer_plan_by (status, plan_by),
    -- timers that are not planned up to the present
    INDEX timer_to_plan (status, next_fire_at),
    -- the purger reads only finished timers whose time has come
    INDEX timer_finished (status, next_fire_at, keep_days, planned_until),
    -- timers that name a calendar that was uploaded again, and still have its older days
    INDEX timer_follows (app, calendar, calendar_at),
    -- how many living timers name a target
    INDEX timer_of_target (app, target, tombstone),
    -- the sweep refreshes the definitions that changed lately
    INDEX timer_updated (updated_at),
    -- an app's living timers by id, and how many they are
    INDEX timer_of_app (app, tombstone),
    -- an app's living timers by their last change
    INDEX timer_of_app_updated (app, tombstone, updated_at),
    -- purge reads only deleted timers, oldest first
    INDEX timer_deleted (status, updated_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- excluded days, as apps uploaded them
CREATE TABLE calendar (
    app VARCHAR(64) NOT NULL,
    name VARCHAR(64) NOT NULL,
    -- JSON {name, weekdays, days, working}
    content MEDIUMTEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- the updated_at that all timers which name the calendar follow; 0: some may not follow yet
    followed_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (app, name),
    -- calendars that are to be followed
    INDEX calendar_followed (followed_at, updated_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- calls of an app that its timers name
CREATE TABLE target (
    app VARCHAR(64) NOT NULL,
    name VARCHAR(64) NOT NULL,
    -- JSON: the call, its secrets sealed, and what is set beside it
    content MEDIUMTEXT NOT NULL,
    -- grows with every change, also over a deletion
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (app, name),
    -- the sweep tells Redis of what changed lately
    INDEX target_updated (updated_at, app, name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- how each app's callbacks are signed; an app gets its row with its first secret
CREATE TABLE signing (
    app VARCHAR(64) NOT NULL,
    -- JSON: the secrets that sign, and whether signing is on
    content MEDIUMTEXT NOT NULL,
    -- grows with every change
    version BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (app),
    -- the sweep tells Redis of what changed lately
    INDEX signing_updated (updated_at, app)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- the certificate that an app's callbacks show to targets that ask for one
CREATE TABLE client_certificate (
    app VARCHAR(64) NOT NULL,
    -- PEM, its own first, then those that vouch for it
    chain MEDIUMTEXT NOT NULL,
    -- its private key, encrypted
    sealed_key MEDIUMTEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    -- grows with every change
    version BIGINT NOT NULL,
    PRIMARY KEY (app),
    -- those that end soonest
    INDEX client_certificate_expires (expires_at, app)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- answers kept for a day, for callers who repeat a request
CREATE TABLE idempotency (
    app VARCHAR(64) NOT NULL,
    idempotency_key VARCHAR(255) NOT NULL,
    -- SHA-256, in hexadecimal
    body_hash VARCHAR(64) NOT NULL,
    answer MEDIUMTEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (app, idempotency_key),
    -- purge deletes answers older than a day
    INDEX idempotency_created (created_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- tags of living timers
CREATE TABLE timer_tag (
    app VARCHAR(64) NOT NULL,
    tag VARCHAR(64) NOT NULL,
    timer_id BIGINT NOT NULL,
    PRIMARY KEY (app, tag, timer_id),
    INDEX timer_tag_of_timer (timer_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE firing (
    -- in the order of this key planning appends, settling touches neighbouring pages, and a minute is a range scan
    fire_at BIGINT NOT NULL,
    timer_id BIGINT NOT NULL,
    -- decided when the row is inserted; with the minute of due_at it names the slice
    bucket SMALLINT NOT NULL,
    kind ENUM('scheduled', 'manual', 'backfill') NOT NULL,
    status ENUM('pending', 'succeeded', 'failed', 'skipped', 'accepted') NOT NULL,
    -- fire_at, or the moment of the next attempt; of an accepted one, when its target is to have said that it is done
    due_at BIGINT NOT NULL,
    attempt SMALLINT NOT NULL,
    -- from here to http_status: 0 until the first outcome, which is then written in place; NULL if that has no value
    first_sent_at BIGINT DEFAULT 0,
    lateness_ms BIGINT DEFAULT 0,
    -- of the last attempt; durations since its call began; where first_byte_ms is -1, not a byte was sent, and sent_at
    -- is when the attempt was made
    sent_at BIGINT DEFAULT 0,
    connect_ms BIGINT DEFAULT 0,
    first_byte_ms BIGINT DEFAULT 0,
    cost_ms BIGINT DEFAULT 0,
    http_status SMALLINT DEFAULT 0,
    output VARCHAR(1024) NOT NULL DEFAULT '',
    error VARCHAR(255) NOT NULL DEFAULT '',
    -- when somebody asked for the firing; NULL, which takes no room, if its schedule made it
    asked_at BIGINT,
    -- the lane in which the attempt waits or waited, such as 'host:...', 'limit:...' or 'pause:...'
    lane VARCHAR(300) NOT NULL DEFAULT '',
    -- while the last attempt waited to be sent, how long its host was failing; NULL, which takes no room: not at all
    host_failing_ms BIGINT,
    -- when its target said that the accepted work is done; NULL, which takes no room: it did not
    done_at BIGINT,
    -- its number among its timer's planned firings; NULL, which takes no room: it has none
    seq BIGINT,
    PRIMARY KEY (fire_at, timer_id),
    -- overdue firings, and one slice's pending rows, read in order; rows in lanes are skipped within the index
    INDEX firing_due (status, due_at, fire_at, timer_id, lane),
    -- one timer's history
    INDEX firing_of_timer (timer_id, fire_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- attempts that another attempt followed; a firing's last attempt is in its own row
CREATE TABLE attempt (
    fire_at BIGINT NOT NULL,
    timer_id BIGINT NOT NULL,
    attempt SMALLINT NOT NULL,
    status ENUM('pending', 'succeeded', 'failed', 'skipped', 'accepted') NOT NULL,
    sent_at BIGINT,
    connect_ms BIGINT,
    first_byte_ms BIGINT,
    cost_ms BIGINT,
    http_status SMALLINT,
    output VARCHAR(1024) NOT NULL DEFAULT '',
    error VARCHAR(255) NOT NULL DEFAULT '',
    PRIMARY KEY (fire_at, timer_id, attempt)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- what has failed for good: one of a firing, until it is replayed, discarded or past its app's time
CREATE TABLE dead_letter (
    -- an app's, in the order in which they failed
    app VARCHAR(64) NOT NULL,
    -- when its last attempt ended
    failed_at BIGINT NOT NULL,
    timer_id BIGINT NOT NULL,
    fire_at BIGINT NOT NULL,
    -- its timer's, which may be deleted before
    name VARCHAR(128) NOT NULL,
    kind ENUM('scheduled', 'manual', 'backfill') NOT NULL,
    -- why, in a word, as in http_503
    reason VARCHAR(16) NOT NULL,
    -- what the last attempt called: host and port, and the named target; '' and NULL: nothing
    host VARCHAR(300) NOT NULL,
    target VARCHAR(64),
    attempt SMALLINT NOT NULL,
    http_status SMALLINT,
    error VARCHAR(255) NOT NULL,
    PRIMARY KEY (app, failed_at, timer_id, fire_at),
    -- that of a firing
    INDEX dead_letter_of_firing (timer_id, fire_at),
    -- those of all apps, in the order in which they failed
    INDEX dead_letter_failed (failed_at, timer_id, fire_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- of what apps want to be told
CREATE TABLE alert_rule (
    app VARCHAR(64) NOT NULL,
    name VARCHAR(64) NOT NULL,
    -- JSON: events, timers, where messages go (sealed)
    content MEDIUMTEXT NOT NULL,
    -- the lateness that it tells of; NULL: it tells of none
    late_ms BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- when a message was last taken; NULL: none was
    told_at BIGINT,
    -- why the last one was not
    error VARCHAR(255) NOT NULL DEFAULT '',
    PRIMARY KEY (app, name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- attempts and skipped firings of apps with such rules, until the judge of alerts has seen them
CREATE TABLE alert_note (
    -- whose it is; '': nobody knew that
    app VARCHAR(64) NOT NULL,
    fire_at BIGINT NOT NULL,
    timer_id BIGINT NOT NULL,
    attempt SMALLINT NOT NULL,
    status ENUM('pending', 'succeeded', 'failed', 'skipped', 'accepted') NOT NULL,
    lateness_ms BIGINT,
    http_status SMALLINT,
    error VARCHAR(255) NOT NULL,
    -- host and port that were called, and the named target; '': nobody knew that, and none
    host VARCHAR(300) NOT NULL,
    target VARCHAR(64) NOT NULL,
    -- when its outcome was known; NULL: nobody said
    known_at BIGINT,
    -- of a failure: when its process last saw a success there since the failure before; NULL: it saw none
    well_at BIGINT,
    PRIMARY KEY (app, fire_at, timer_id, attempt)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- what is not normal: one of a rule, an event, and a timer or a host, until it is over
CREATE TABLE alert (
    app VARCHAR(64) NOT NULL,
    rule VARCHAR(64) NOT NULL,
    -- of one of all timers of a host: 0
    timer_id BIGINT NOT NULL,
    event VARCHAR(32) NOT NULL,
    -- the host or the named target; '' of one of a single timer
    place VARCHAR(300) NOT NULL,
    timer_name VARCHAR(128) NOT NULL,
    -- the moment of the last firing that it is about
    fire_at BIGINT NOT NULL,
    since BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    times BIGINT NOT NULL,
    -- when it was told; NULL: it was not yet
    told_at BIGINT,
    -- it is over only if a firing was not later than this; NULL: lateness does not matter
    late_ms BIGINT,
    -- JSON: where its calls went, its last firings, how many timers it has
    content MEDIUMTEXT NOT NULL,
    PRIMARY KEY (app, rule, timer_id, event, place),
    -- those of a page of timers
    INDEX alert_of_timer (timer_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- messages of rules: one on its way, and one that gathers what happens meanwhile
CREATE TABLE alert_message (
    id BIGINT NOT NULL AUTO_INCREMENT,
    app VARCHAR(64) NOT NULL,
    rule VARCHAR(64) NOT NULL,
    -- 1: somebody asked for it, and waits for what becomes of it
    is_test SMALLINT NOT NULL,
    -- JSON: the alerts that it tells
    content MEDIUMTEXT NOT NULL,
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    -- attempts that began; 0: it still gathers
    attempt SMALLINT NOT NULL,
    -- until then a process is at it; 0: none is
    taken_until BIGINT NOT NULL,
    -- JSON of what became of a test; NULL: nobody knows yet
    answer MEDIUMTEXT,
    PRIMARY KEY (id),
    -- those that are due
    INDEX alert_message_due (due_at),
    -- those of a rule
    INDEX alert_message_of_rule (app, rule, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
