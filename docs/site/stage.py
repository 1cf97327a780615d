#!/usr/bin/env python3
"""Puts the sources of the site into one folder, from which Sphinx makes the pages (scripts/site).

    stage.py --largo BINARY --out FOLDER        with PYTHONPATH set so that `import largo` works

The pages of docs/, the README, CONTRIBUTING.md and CHANGELOG.md come as they are, but for their formulas, which become
MathML, and their links: what lies outside docs/ has its own address on the site. Examples and notebooks become pages.
The references are made here: of the command line from what `--help` prints, of Python from the docstrings and
signatures that the module has at run time, of C++ from the public headers (Doxygen reads those for Sphinx).
"""

import argparse
import base64
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
from formulas import mathml  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".toml": "toml", ".csv": "text", ".cff": "yaml"}
MODULES = ["largo", "largo.icl", "largo.training", "largo.heads", "largo.parts", "largo.plot", "largo.torch"]


# ---------------------------------------------------------------------------------------------------- pages of docs/

def indented_blocks(lines: List[str]) -> List[Tuple[int, int]]:
    """The blocks of lines (first, last + 1) that Markdown takes for code because they are indented."""
    blocks: List[Tuple[int, int]] = []
    fence = ""
    in_list = False
    blank = True
    i = 0
    while i < len(lines):
        line = lines[i]
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            if mark and line.strip().startswith(fence) and line.strip().strip(fence[0]) == "":
                fence = ""
        elif mark:
            fence = mark[1]
        elif line.startswith("    ") and line.strip() and blank and not in_list:
            first = i
            while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                i += 1
            last = i
            while not lines[last - 1].strip():
                last -= 1
            blocks.append((first, last))
            blank = True
            continue
        elif line.strip() and not line.startswith(" "):
            in_list = bool(re.match(r"([-*+]|\d+[.)])\s", line))
        blank = not line.strip()
        i += 1
    return blocks


def with_formulas(text: str) -> str:
    """The page with every displayed formula as MathML."""
    lines = text.split("\n")
    out: List[str] = []
    done = 0
    for first, last in indented_blocks(lines):
        out += lines[done:first]
        out.append("```{raw} html")
        for part in "\n".join(line[4:] for line in lines[first:last]).split("\n\n"):
            out.append(f'<div class="formula" role="group" tabindex="0">{mathml(part)}</div>')
        out.append("```")
        done = last
    return prose_formulas("\n".join(out + lines[done:]))


# A single letter with indices or powers, in a sentence: x_i, e^{s g_i}, Γ^{1/2}, P_2².
SCRIPT = r"[_^](?:\{(?:[^{}]|\{[^{}]*\})*\}|[A-Z](?![a-z])|[a-z0-9]+|[^\W\d_a-zA-Z]|∞)"
PRODUCT = r"<(?=[^\s<>])[^<>`]{0,60},[^<>`]{0,60}[^\s<>]>"  # <a, z>
VARIABLE = re.compile(PRODUCT + rf"|(?<![\w\\^])[^\W\d_][\u0302-\u0304]?(?:{SCRIPT}|[²³⁴ᵀ'])*{SCRIPT}[²³⁴ᵀ']*(?![\w{{])")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The page with `change` made wherever it is neither in a block of code nor between backticks."""
    parts = re.split(r"(^ *```.*?^ *```$|`[^`]*`|<!--.*?-->)", text, flags=re.M | re.S)
    parts[::2] = [change(part) for part in parts[::2]]
    return "".join(parts)


def prose_formulas(text: str) -> str:
    def links_apart(part: str) -> str:
        pieces = re.split(r"(\]\([^)\s]*\))", part)
        pieces[::2] = [VARIABLE.sub(lambda m: mathml(m[0], inline=True), piece) for piece in pieces[::2]]
        return "".join(pieces)
    return outside_code(text, links_apart)


def slug(path: Path) -> str:
    return re.sub(r"[^a-z0-9]+", "-", str(path).lower()).strip("-")


class Stage:
    """Where each file of the repository is found on the site."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.pages: Dict[Path, str] = {  # a file of the repository: its page
            Path("README.md"): "index", Path("docs/README.md"): "guide",
            Path("CONTRIBUTING.md"): "contributing", Path("CHANGELOG.md"): "changelog"}
        for page in sorted((ROOT / "docs").glob("*.md")):
            self.pages.setdefault(page.relative_to(ROOT), page.stem)
        self.sources: List[Path] = []  # files and folders outside docs/ that pages link to

    def write(self, page: str, text: str) -> None:
        path = self.out / f"{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def link(self, target: str, page: Path, from_page: str) -> str:
        """The target of a link in this file of the repository, as it is on the site."""
        if re.match(r"[a-z]+:|#", target):
            return target
        file, _, anchor = target.partition("#")
        path = Path(os.path.normpath(page.parent / file))
        if not (ROOT / path).exists():
            raise SystemExit(f"site: {page} links to {target}, which is not there")
        if path.parts[:2] == ("docs", "figures"):
            return "/" + str(Path(*path.parts[1:]))
        if path not in self.pages:
            self.pages[path] = f"source/{slug(path)}"
            self.sources.append(path)
        up = "../" * from_page.count("/")
        return f"{up}{self.pages[path]}.md" + (f"#{anchor}" if anchor else "")

    def linked(self, text: str, page: Path, from_page: str) -> str:
        return outside_code(text, lambda part: re.sub(
            r"\]\(([^()\s]+)\)", lambda m: f"]({self.link(m[1], page, from_page)})", part))

    def markdown(self, page: Path) -> str:
        text = (ROOT / page).read_text()
        return self.linked(with_formulas(text), page, self.pages[page])


def fence(text: str, language: str) -> str:
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}\n"


# ---------------------------------------------------------------------------------------------- examples, notebooks

def notebook(path: Path, stage: Stage) -> str:
    """A notebook that has been run, as Markdown: its cells, and what they printed or drew."""
    out: List[str] = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            out.append(stage.linked(with_formulas(source), path.relative_to(ROOT), stage.pages[path.relative_to(ROOT)]))
            continue
        if source.strip():
            out.append(fence(source, "python"))
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/svg+xml" in data or "image/png" in data:
                vector = "image/svg+xml" in data
                name = f"{slug(path.relative_to(ROOT))}-{len(list((stage.out / 'images').glob('*'))):02}.{'svg' if vector else 'png'}"
                (stage.out / "images").mkdir(exist_ok=True)
                content = data["image/svg+xml" if vector else "image/png"]
                content = "".join(content)
                (stage.out / "images" / name).write_bytes(content.encode() if vector else base64.b64decode(content))
                out.append(f"![what this cell draws](/images/{name})")
            elif "text/html" in data:
                out.append(fence("".join(data["text/html"]), "{raw} html"))
            elif "text/plain" in data or "text" in output:
                out.append(fence("".join(data.get("text/plain", output.get("text", ""))), "text"))
    return "\n\n".join(out)


def source_page(path: Path, stage: Stage) -> str:
    """A file, or all files of a folder, to read."""
    full = ROOT / path
    if path.suffix == ".ipynb":
        return notebook(full, stage)
    files = sorted(p for p in full.iterdir() if p.suffix in LANGUAGES) if full.is_dir() else [full]
    out = [f"# {path.name}\n", f"`{path}`\n"]
    for file in files:
        if full.is_dir():
            out.append(f"## {file.name}\n")
        out.append(fence(file.read_text(), LANGUAGES.get(file.suffix, "text")))
    return "\n".join(out)


# ---------------------------------------------------------------------------------------------------- command line

def commands(largo: str, *path: str) -> Iterable[Tuple[Tuple[str, ...], str]]:
    """Every command with what its --help prints, in its order."""
    text = subprocess.run([largo, *path, "--help"], check=True, capture_output=True, text=True).stdout
    yield path, text
    listed = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, flags=re.M)
    for name in re.findall(r"^  (\S+)", listed[1], flags=re.M) if listed else []:
        yield from commands(largo, *path, name)


def command_line(largo: str) -> str:
    out = ["# The command line\n", "What `--help` prints, command by command.\n"]
    for path, text in commands(largo):
        out += [f"## {' '.join(('largo', *path))}\n", fence(text, "text")]
    return "\n".join(out)


# ------------------------------------------------------------------------------------------------------------ Python

def escaped(text: str) -> str:
    """Plain text in Markdown; what stands between backticks stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\*\[\]<>#|$~])", r"\\\1", parts[i])
    return "".join(parts)


def docstring(text: str) -> str:
    """A docstring in Markdown: paragraphs, indented blocks as they are, and examples with their output."""
    out: List[str] = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = block.split("\n")
        at = 0
        while at < len(lines):
            first = at
            kind = _kind(lines[at])
            while at < len(lines) and (_kind(lines[at]) == kind or kind == "example"):
                at += 1
            part = "\n".join(lines[first:at])
            out.append(prose_formulas(escaped(part)) if kind == "text" else fence(part, "pycon" if kind == "example" else "text"))
    return "\n\n".join(out)


def _kind(line: str) -> str:
    return "example" if line.startswith(">>>") else "block" if line.startswith("    ") else "text"


def signature(thing: Any) -> str:
    try:
        found = str(inspect.signature(thing))
    except (ValueError, TypeError):
        return "(…)"
    found = re.sub(r"(?<=: )'([^']*)'|(?<=-> )'([^']*)'", lambda m: m[1] or m[2], found)  # annotations are texts
    return re.sub(r"\b(typing|numpy|collections\.abc|largo|_\w+)\.(?=\w)", "", found)


def directive(kind: str, name: str, content: str, depth: int) -> str:
    ticks = "`" * (9 - depth)
    return f"{ticks}{{py:{kind}}} {name}\n\n{content}\n{ticks}\n"


def described(thing: Any, name: str, depth: int = 0) -> str:
    text = docstring(inspect.getdoc(thing) or "")
    if not inspect.isclass(thing):
        return directive("function", name + signature(thing), text, depth)
    members: List[str] = []
    is_tuple = issubclass(thing, tuple)
    for key, member in vars(thing).items():
        if key.startswith("_") and key != "__call__":
            continue
        own = inspect.getdoc(member) or ""
        if isinstance(member, property) or (is_tuple and inspect.isdatadescriptor(member)):
            members.append(directive("attribute", key, docstring(own), depth + 1))
        elif callable(member) or isinstance(member, (staticmethod, classmethod)):
            members.append(directive("method", key + signature(getattr(thing, key)), docstring(own), depth + 1))
    head = "" if getattr(thing, "__abstractmethods__", None) else signature(thing)
    return directive("class", name + ("" if head == "(…)" else head), "\n\n".join([text, *members]), depth)


def python_module(name: str) -> str:
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    out = [f"# {name}\n", docstring(module.__doc__ or ""), "\n"]
    for member in sorted(names, key=str.lower):
        thing = getattr(module, member)
        if inspect.ismodule(thing) or member.startswith("__"):
            continue
        if name != "largo" and getattr(importlib.import_module("largo"), member, None) is thing:
            continue  # described there
        if inspect.isclass(thing) or callable(thing):
            out.append(described(thing, f"{name}.{member}"))
        else:
            out.append(directive("data", f"{name}.{member}", docstring(getattr(thing, "__doc__", "") or ""), 0))
    return "\n".join(out)


# --------------------------------------------------------------------------------------------------------------- C++

def header_comment(path: Path) -> str:
    lines: List[str] = []
    for line in path.read_text().split("\n"):
        if not line.startswith("//"):
            break
        lines.append(line[3:])
    return "\n".join(lines)


def cpp_comment(text: str) -> str:
    out: List[str] = []
    for block in re.split(r"\n\s*\n", text):
        indented = all(line.startswith("  ") for line in block.split("\n") if line.strip())
        is_code = block.isascii() and re.search(r";\s*(//.*)?$|::", block, flags=re.M)
        out.append(fence(block, "cpp" if is_code else "text") if indented else prose_formulas(escaped(block)))
    return "\n\n".join(out)


def cpp_folder(folder: Path) -> str:
    include = ROOT / "include"
    out = [f"# largo/{folder.name}\n" if folder.name != "largo" else "# largo\n"]
    for header in sorted(folder.glob("*.hpp")):
        name = str(header.relative_to(include))
        out += [f"## {name}\n", cpp_comment(header_comment(header)), "\n",
                "```{eval-rst}\n.. doxygenfile:: " + name + "\n```\n"]
    return "\n".join(out)


# ------------------------------------------------------------------------------------------------------------- index

def toctree(caption: str, pages: List[str]) -> str:
    return "```{toctree}\n:hidden:\n:caption: " + caption + "\n\n" + "\n".join(pages) + "\n```\n"


def guide_sections(stage: Stage) -> List[Tuple[str, List[str]]]:
    """The sections of docs/README.md with the pages that their tables list."""
    sections: List[Tuple[str, List[str]]] = []
    for part in (ROOT / "docs/README.md").read_text().split("\n## ")[1:]:
        pages = [stage.pages[Path(os.path.normpath(Path("docs") / target))]
                 for target in re.findall(r"^\| \[[^\]]*\]\(([^)#]+)\)", part, flags=re.M)]
        if pages:
            sections.append((part.split("\n")[0], pages))
    listed = {page for _, pages in sections for page in pages} | {"index", "guide"}
    missing = {page for page in stage.pages.values() if "/" not in page} - listed
    if missing:
        raise SystemExit(f"site: docs/README.md does not list {', '.join(sorted(missing))}")
    return sections


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largo", required=True, help="the command line that is described")
    parser.add_argument("--out", required=True, type=Path, help="where the sources are put; emptied first")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.out, ignore_errors=True)
    arguments.out.mkdir(parents=True)
    stage = Stage(arguments.out)
    sections = guide_sections(stage)
    for path, page in list(stage.pages.items()):
        if page != "index":
            stage.write(page, stage.markdown(path))
    index = stage.markdown(Path("README.md"))
    for notebook_path in sorted((ROOT / "examples").glob("*/*.ipynb")):  # also those that no page links to
        stage.link(str(notebook_path.relative_to(ROOT)), Path("README.md"), "index")
    done = 0
    while done < len(stage.sources):  # notebooks link to files, too
        path = stage.sources[done]
        stage.write(stage.pages[path], source_page(path, stage))
        done += 1
    stage.write("reference/command-line", command_line(arguments.largo))
    for name in MODULES:
        stage.write(f"reference/python/{name.replace('.', '-')}", python_module(name))
    folders = [f for f in sorted((ROOT / "include/largo").rglob("*")) if f.is_dir() and any(f.glob("*.hpp"))]
    for folder in folders:
        stage.write(f"reference/cpp/{slug(folder.relative_to(ROOT / 'include'))}", cpp_folder(folder))
    trees = [toctree("Start", ["Overview <self>", "guide", "All names <genindex>"])]
    trees += [toctree(caption, pages) for caption, pages in sections]
    trees.append(toctree("Examples", [stage.pages[p] for p in stage.sources]))
    trees.append(toctree("Command line", ["reference/command-line"]))
    trees.append(toctree("Python, name by name", [f"reference/python/{name.replace('.', '-')}" for name in MODULES]))
    trees.append(toctree("C++, header by header", [f"reference/cpp/{slug(f.relative_to(ROOT / 'include'))}" for f in folders]))
    stage.write("index", index + "\n" + "\n".join(trees))
    shutil.copytree(ROOT / "docs/figures", arguments.out / "figures", ignore=shutil.ignore_patterns("*.py", "make"))
    print(f"site: {len(list(arguments.out.rglob('*.md')))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
