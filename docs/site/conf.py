"""Sphinx's settings for the site (scripts/site). Its sources are put together by stage.py."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

project = "largo"
author = "the largo authors"
version = release = re.search(r"project\(largo VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
copyright = ""

extensions = ["myst_parser", "breathe"]
myst_heading_anchors = 4
breathe_projects = {"largo": os.environ["LARGO_DOXYGEN"]}
breathe_default_project = "largo"
cpp_id_attributes = ["HWY_RESTRICT"]

html_theme = "furo"
html_title = f"largo {version}"
html_static_path = ["static", os.environ["LARGO_MATH_FONT"]]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
# The pages are read from disk, where a page may not read another one.
html_show_search_summary = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "xcode"
pygments_dark_style = "github-dark"

nitpicky = False
suppress_warnings = ["myst.xref_missing"]  # scripts/site looks at every link of the finished pages
