"""Makes a test of every C++ example of the documentation: it compiles, and runs.

    cpp_snippets.py --source REPOSITORY --out FOLDER     every ```cpp block of README.md and docs/*.md
    cpp_snippets.py --self-test                          checks this script itself

An example is the body of a test, its #include lines at the head of the file. What it leaves to the reader stands in
comments that the page does not show, right before the block and right after it:

    <!-- C++ before                                      <!-- C++ after
    const largo::Matrix U = largo::Matrix::Identity(2, 2);       EXPECT_EQ(limit.rows(), 3);
    -->                                                  -->

<!-- C++ needs mpi --> keeps an example out of builds without it; "-compile" behind the word, as in cuda-compile, has it
compiled and not run. Prints the file of each example and what it needs: "readme_1.cpp", "ranks_1.cpp mpi".
"""

import argparse
import glob
import os
import re
import sys
import tempfile

BLOCK = re.compile(r"^```cpp\n(?P<code>.*?)^```$", re.M | re.S)
BEFORE = re.compile(r"<!-- C\+\+ before\n(?P<code>(?:(?!-->).)*)-->\s*\Z", re.S)
NEEDS = re.compile(r"<!-- C\+\+ needs (?P<what>[a-z]+(?:-compile)?) -->\s*\Z")
AFTER = re.compile(r"\A\s*<!-- C\+\+ after\n(?P<code>.*?)-->", re.S)
INCLUDE = re.compile(r"^#include .*\n", re.M)


def snippets(page, text):
    """(what it needs, includes, pieces of the body) of each example; a piece is its code and the line where it begins."""
    if len(re.findall(r"^\s*```\s*(?:cpp|c\+\+|C\+\+)", text, re.M)) != len(BLOCK.findall(text)):
        raise ValueError(f"{page}: a C++ block is indented, does not end, or is not marked ```cpp")
    used = 0
    for block in BLOCK.finditer(text):
        head, tail, pieces, needs = text[:block.start()], text[block.end():], [], ""
        line = head.count("\n") + 2
        if found := NEEDS.search(head):
            needs, head = found["what"], head[:found.start()]
        if found := BEFORE.search(head):
            pieces.append((head[:found.start("code")].count("\n") + 1, found["code"]))
        pieces.append((line, block["code"]))
        if found := AFTER.search(tail):
            pieces.append((line + (block["code"] + tail[:found.start("code")]).count("\n"), found["code"]))
        used += len(pieces) - 1 + bool(needs)
        includes = "".join(INCLUDE.findall("".join(code for _, code in pieces)))
        yield needs, includes, [(at, INCLUDE.sub("\n", code)) for at, code in pieces]
    if used != text.count("<!-- C++ "):
        raise ValueError(f"{page}: a comment '<!-- C++ ...' stands beside no C++ block")


def test_of(page, name, needs, includes, pieces):
    body = "".join(f'#line {line} "{page}"\n{code}' for line, code in pieces)
    if needs.endswith("-compile"):
        return f'{includes}#include <gtest/gtest.h>\n\n[[maybe_unused]] static void {name}() {{\n{body}}}\n'
    return f'{includes}#include <gtest/gtest.h>\n\nTEST(Snippet, {name}) {{\n{body}}}\n'


def write(path, text):
    """Only what is new: what is the same is not compiled again."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def extract(source, out):
    os.makedirs(out, exist_ok=True)
    found = []
    for path in [os.path.join(source, "README.md"), *sorted(glob.glob(os.path.join(source, "docs", "*.md")))]:
        page = os.path.relpath(path, source)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        stem = re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0].lower())
        for number, (needs, includes, pieces) in enumerate(snippets(page, text), 1):
            name = f"{stem}_{number}"
            write(os.path.join(out, name + ".cpp"), test_of(page, name, needs, includes, pieces))
            found.append(f"{name}.cpp {needs}".strip())
    if not found:
        raise ValueError("no example was found: none would be noticed if it were wrong")
    return found


def self_test():
    page = "a\n\n<!-- C++ before\n#include <x>\nint a = 1;\n-->\n```cpp\n#include <y>\nf(a);\n```\n<!-- C++ after\ng();\n-->\n"
    (needs, includes, pieces), = snippets("page", page)
    assert (needs, includes) == ("", "#include <x>\n#include <y>\n")
    assert pieces == [(4, "\nint a = 1;\n"), (8, "\nf(a);\n"), (12, "g();\n")], pieces
    lines = page.splitlines()
    assert lines[4] == "int a = 1;" and lines[8] == "f(a);" and lines[11] == "g();"
    text = test_of("page", "name", needs, includes, pieces)
    assert '#line 8 "page"\n\nf(a);\n' in text and text.startswith("#include <x>\n#include <y>\n"), text
    (needs, _, pieces), = snippets("page", "<!-- C++ before\na\n-->\n<!-- C++ needs mpi -->\n```cpp\nb\n```\n")
    assert needs == "mpi" and [code for _, code in pieces] == ["a\n", "b\n"]
    assert len(list(snippets("page", "```cpp\na\n```\ntext\n```cpp\nb\n```\n```sh\nc\n```\n"))) == 2
    for wrong in ("<!-- C++ before\na\n-->\ntext\n```cpp\nb\n```\n", "```cpp\nb\n", "  ```cpp\n  b\n  ```\n", "```c++\nb\n```\n",
                  "```cpp\nb\n```\ntext\n<!-- C++ after\na\n-->\n"):
        try:
            list(snippets("page", wrong))
        except ValueError:
            continue
        raise AssertionError(f"{wrong!r} was accepted")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "README.md"), "w", encoding="utf-8") as file:
            file.write(page)
        assert extract(folder, os.path.join(folder, "out")) == ["readme_1.cpp"]
        assert os.path.exists(os.path.join(folder, "out", "readme_1.cpp"))


def main():
    parser = argparse.ArgumentParser(description="Makes tests of the C++ examples of the documentation.")
    parser.add_argument("--source", help="the repository")
    parser.add_argument("--out", help="where to write the tests")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return
    try:
        print("\n".join(extract(arguments.source, arguments.out)))
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
