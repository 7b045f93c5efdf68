"""Makes the site's search find Chinese words: each pair of neighbouring characters is indexed, as Lucene does it.

Sphinx' own Chinese search cuts a page into words and takes what was typed as one word, so it finds few phrases.
"""

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

_RUNS = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")
_CHINESE = re.compile(r"[\u3400-\u9fff]")

# The browser asks the index for all parts of what is typed: of a Chinese run only each second pair, as most words have
# two characters, so that 取消定时器 finds a page with 取消订单的定时器.
_SPLITTER = r"""
function splitQuery(query) {
  const parts = [];
  for (const run of query.match(/[\u3400-\u9fff]+|[\p{Letter}\p{Number}_]+/gu) || []) {
    const pieces = run.split(/([\u3400-\u9fff]+)/).filter((piece) => piece);
    for (const piece of pieces) {
      if (!/[\u3400-\u9fff]/.test(piece) || piece.length < 2) parts.push(piece);
      else for (let i = 0; i < piece.length; i += 2) parts.push(piece.slice(Math.min(i, piece.length - 2)).slice(0, 2));
    }
  }
  return parts;
}
"""


class SearchBigrams(SearchEnglish):
    """English words by their stems, Chinese runs by their pairs of characters."""

    lang = "zh-bigrams"
    language_name = "English"
    js_splitter_code = _SPLITTER

    def split(self, input: str) -> list[str]:
        """Return the words of a text."""
        return [part for run in _RUNS.findall(input) for part in pairs(run)]

    def stem(self, word: str) -> str:
        """Return a word as it is indexed."""
        return word if _CHINESE.search(word) else super().stem(word)

    def word_filter(self, word: str) -> bool:
        """Tell whether a word is indexed: single Chinese characters are not."""
        return len(word) > 1 if _CHINESE.search(word) else super().word_filter(word)


def pairs(run: str) -> list[str]:
    """Return each two neighbouring characters of a Chinese run; any other word is returned whole."""
    if not _CHINESE.search(run) or len(run) < 2:
        return [run]
    return [run[at : at + 2] for at in range(len(run) - 1)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx of the language."""
    app.add_search_language(SearchBigrams)
    return {"parallel_read_safe": True}
