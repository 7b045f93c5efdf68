"""The check-up of the mail server: it answers, and takes our account."""

from collections.abc import Iterator

from wangtimer.cli.doctor.findings import Finding, error, ok
from wangtimer.core.errors import BadSetting
from wangtimer.mailer import Mailer, MailNotTaken
from wangtimer.settings import Settings

PART = "mail"
SETTING = "WANGTIMER_SMTP_URL"


def check_mail(settings: Settings) -> Iterator[Finding]:
    """Yield whether the server takes us; no mail is sent. Nothing where no mail is wanted."""
    server = settings.mail_server
    if server is None:
        if settings.smtp_sender:
            said = f"{SETTING} is not set here: callback processes need it"
            yield ok(PART, f"{said}; wangtimer doctor --ways-out tries it where one runs")
        return
    place = f"{server.host}:{server.port}"
    try:
        Mailer(server, settings.callback_authorities).log_in()
    except MailNotTaken as why:
        mend = f"look at host, port, user and password of {SETTING}, the server, and the network between"
        yield error(PART, f"{place}: {why}", mend)
    except BadSetting as wrong:
        yield error(PART, str(wrong), "mail goes over TLS with the authorities of that file")
    else:
        yield ok(PART, f"{place} answers" + (", and takes our password" if server.user else ""))
