"""How Sphinx builds the documentation, by `make docs`. A link that leads nowhere fails the build."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_site"))

project = "WangTimer"
copyright = "the authors of WangTimer, MIT licence"
extensions = ["myst_parser", "chinese_search"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_site"]

# Headings down to this level can be linked to, by the same anchors that hosting sites give them.
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_title = "WangTimer"
html_search_language = "zh-bigrams"
# Everything comes from the folder that is built: it can be read without a network.
html_show_sourcelink = False
html_copy_source = False
