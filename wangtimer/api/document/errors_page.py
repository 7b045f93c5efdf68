"""`/docs/errors`: every error code with its meaning. A problem's `type` links to the code's anchor."""

import re

from markupsafe import escape

from wangtimer.api.http.browser_rules import page_policy, source_of
from wangtimer.api.http.codes import ErrorCode

_STYLE = """
body { max-width: 48rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif }
:target { background: #ffc }
"""
# The page fetches nothing, and no script runs on it.
POLICY = page_policy(f"style-src {source_of(_STYLE)}")

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>WangTimer: error codes</title>
<style>{style}</style>
</head>
<body>
<h1>Error codes</h1>
<p>The first three digits of a code are its HTTP status. The meaning of a code never changes.</p>
{sections}
</body>
</html>
"""


def errors_page() -> str:
    """Return the page, in HTML."""
    return _PAGE.format(style=_STYLE, sections="\n".join(map(_section, ErrorCode)))


def _section(code: ErrorCode) -> str:
    meaning = re.sub("`(.+?)`", r"<code>\1</code>", str(escape(code.meaning)))
    return f'<h2 id="{code.number}">{code.number} {code.title}</h2>\n<p>{meaning}</p>'
