"""What targets said, over `/v1`."""

from tests.further_feature.kept_words import kept
from wangtimer.api.http.api_models import Sent
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.value_types import Text
from wangtimer.core.apps.scopes import Scope


class Words(Sent):
    """What a target said."""

    fire_at: Text
    words: str


class AllWords(Sent):
    """What targets said."""

    items: list[Words]


class WordsResource(Resource):
    """What targets said."""

    @Route("get", "/words", "listWords")
    def list_words(self, header: AppHeader) -> AllWords:
        """List what targets said."""
        found = kept(self.wiring().database, header.app)
        return AllWords.of(items=[Words.of(fire_at=moment, words=words) for moment, words in found])


RESOURCES = {"words": (WordsResource,)}
RIGHTS = {"GET /v1/words": Scope.FIRINGS_READ}
