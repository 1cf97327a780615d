"""Runs the examples of the documentation and compares what they print with what the page shows.

    run_examples.py --largo BINARY --source REPOSITORY [--examples FOLDER]
                                    every ```console block of README.md and docs/*.md
    run_examples.py --self-test     checks this script itself

In a block, a line "$ largo ...", "$ cat FILE" or "$ EXAMPLE", a program of the folder, is run by the shell (a
backslash at the end continues it), and the lines up to the next "$ " must equal its output, standard error included. A line "…" stands for any number
of lines. Numbers with more than 12 significant digits are compared to 1e-10, since their last digits differ
between processors; all else must be equal. A command must end with 0, unless its output is a line of error
("largo: ..."), and then must not. Other commands are not run, nor are blocks after a comment <!-- not run -->.

The blocks of one page run in order in one scratch folder, which begins as a copy of examples/data, examples/studies and
examples/tasks.
"""

import argparse
import glob
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ANY_LINES = "…"
NOT_RUN = "<!-- not run -->"
EXACT_DIGITS = 12
TOLERANCE = 1e-10
TIME_LIMIT = 300 * float(os.environ.get("LARGO_PATIENCE", "1"))  # seconds; the sanitizers are slow

FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,}|~{3,})(?P<kind>.*)$")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Example:
    """A command of a page, and the lines shown after it."""

    def __init__(self, page, line, command):
        self.page, self.line, self.command = page, line, command
        self.shown = []

    def runs(self, programs):
        return self.command.split(" ")[0] in ("cat", *os.listdir(programs))


def blocks(page, lines):
    """(number of the first line, lines) of each console block that is to be run."""
    before = ""  # the last line of text that is not blank
    fence, content = None, []
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if fence is None:
            if match:
                fence, first, content = match, number + 1, []
            elif line.strip():
                before = line.strip()
        elif match and match["ticks"].startswith(fence["ticks"]) and not match["kind"].strip():
            if fence["kind"].strip() == "console" and before != NOT_RUN:
                yield first, content
            fence, before = None, ""
        else:
            content.append(line[len(fence["indent"]):] if line.startswith(fence["indent"]) else line.lstrip())
    if fence is not None:
        raise ValueError(f"{page}:{first - 1}: this block does not end")


def examples_of(page, lines):
    for first, content in blocks(page, lines):
        example, continued = None, False
        for number, line in enumerate(content, first):
            if continued:
                example.command = example.command[:-1].rstrip() + " " + line.strip()
                continued = line.endswith("\\")
            elif line.startswith("$ "):
                if example is not None:
                    yield example
                example = Example(page, number, line[2:].strip())
                continued = line.endswith("\\")
            elif example is not None:
                example.shown.append(line)
        if example is not None:
            yield example


def significant_digits(number):
    digits = re.split("[eE]", number)[0].lstrip("+-").replace(".", "").lstrip("0")
    return len(digits)


def same_line(shown, printed):
    if NUMBER.split(shown) != NUMBER.split(printed):
        return False
    for one, other in zip(NUMBER.findall(shown), NUMBER.findall(printed)):
        long = max(significant_digits(one), significant_digits(other)) > EXACT_DIGITS
        if one != other and not (long and math.isclose(float(one), float(other), rel_tol=TOLERANCE)):
            return False
    return True


def same_output(shown, printed):
    """Lines against lines, with ANY_LINES in `shown`, from the last line backwards."""
    reach = {len(printed)}  # where in `printed` the rest of `shown` can begin
    for line in reversed(shown):
        if line.strip() == ANY_LINES:
            reach = set(range(max(reach) + 1)) if reach else reach
        else:
            reach = {at - 1 for at in reach if at > 0 and same_line(line, printed[at - 1])}
    return 0 in reach


def without_blank_end(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return [line.rstrip() for line in lines]


def problem_of(example, folder, environment):
    """None, or what is wrong."""
    if example.command.startswith("cat ") and "largo" not in example.command and example.command.count(" ") != 1:
        return "only cat with one file is run"
    completed = subprocess.run(["/bin/sh", "-c", example.command], cwd=folder, env=environment, check=False,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               timeout=TIME_LIMIT)
    printed = without_blank_end(completed.stdout.decode().splitlines())
    shown = without_blank_end(example.shown)
    if not same_output(shown, printed):
        return "\n".join(["the page shows", *("  | " + line for line in shown), "the command prints",
                          *("  | " + line for line in printed)])
    error_shown = any(line.startswith("largo: ") for line in shown)
    if (completed.returncode != 0) != error_shown:
        return f"exit code {completed.returncode}"
    return None


def run_page(page, text, largo, data, examples=()):
    """Number of commands run, and the problems."""
    run, problems = 0, []
    with tempfile.TemporaryDirectory(prefix="largo-docs-") as scratch:
        folder, programs = os.path.join(scratch, "work"), os.path.join(scratch, "bin")
        if data is not None and os.path.isdir(data):
            shutil.copytree(data, folder)
            for kind in ("studies", "tasks"):
                for file in glob.glob(os.path.join(os.path.dirname(data), kind, "*.toml")):
                    shutil.copy(file, folder)
        else:
            os.mkdir(folder)
        os.mkdir(programs)
        os.symlink(os.path.abspath(largo), os.path.join(programs, "largo"))
        for program in examples:
            os.symlink(os.path.abspath(program), os.path.join(programs, os.path.basename(program)))
        environment = {name: value for name, value in os.environ.items() if name != "LARGO_SIMD"}
        environment["PATH"] = programs + os.pathsep + environment.get("PATH", os.defpath)
        for example in examples_of(page, text.splitlines()):
            if not example.runs(programs):
                continue
            run += 1
            problem = problem_of(example, folder, environment)
            if problem is not None:
                problems.append(f"{page}:{example.line}: $ {example.command}\n{problem}")
    return run, problems


def run_documentation(source, largo, folder):
    total, failed = 0, 0
    names = [os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(source, "examples", "*.cpp"))]
    examples = [os.path.join(folder, name) for name in names if folder and os.path.exists(os.path.join(folder, name))]
    pages = [os.path.join(source, "README.md"), *sorted(glob.glob(os.path.join(source, "docs", "*.md")))]
    for path in pages:
        page = os.path.relpath(path, source)
        if not os.path.isfile(path):
            print(f"{page} is missing")
            return 1
        with open(path, encoding="utf-8") as file:
            text = file.read()
        run, problems = run_page(page, text, largo, os.path.join(source, "examples", "data"), examples)
        total, failed = total + run, failed + len(problems)
        print(f"{page}: {run} commands, {len(problems)} differ")
        for problem in problems:
            print(problem)
    if total == 0:
        print("no example was found: none would be noticed if it were wrong")
    return 0 if total > 0 and failed == 0 else 1


# The self-test's stand-in for largo prints its arguments, one a line; "fail" prints an error and returns 2.
STAND_IN = """#!/bin/sh
if [ "$1" = fail ]; then echo "largo: $2 is wrong" >&2; exit 2; fi
if [ "$1" = crash ]; then exit 3; fi
for argument; do printf '%s\\n' "$argument"; done
"""

# Each entry is a page, the number of commands run, and how many of them differ.
SELF_TEST = [
    ("```console\n$ largo a b\na\nb\n```\n", 1, 0),
    ("```console\n$ largo a b\na\nc\n```\n", 1, 1),
    ("```console\n$ largo a b\na\n```\n", 1, 1),
    ("```console\n$ largo a\na\nb\n```\n", 1, 1),
    ("```console\n$ largo a\n```\n", 1, 1),
    ("```console\n$ largo a\na\n$ largo b\nb\n\n$ largo c\nd\n```\n", 3, 1),
    ("text\n\n  ```console\n  $ largo a\n  a\n  ```\n", 1, 0),
    ("```console\n$ largo a \\\n    b\na\nb\n```\n", 1, 0),
    ("```console\n$ largo a b c d\na\n…\nd\n```\n", 1, 0),
    ("```console\n$ largo a b c d\n…\nb\n…\nd\n…\n```\n", 1, 0),
    ("```console\n$ largo a b c d\n…\nd\nc\n…\n```\n", 1, 1),
    ("```console\n$ largo a b c d\na\n…\nc\n```\n", 1, 1),
    ("```console\n$ largo 'x 0.12345678901234 y'\nx 0.12345678901235 y\n```\n", 1, 0),
    ("```console\n$ largo 'x 0.12345678901234 y'\nx 0.12345678911234 y\n```\n", 1, 1),
    ("```console\n$ largo '[-1.00000000000000002e-5]'\n[-1e-05]\n```\n", 1, 0),
    ("```console\n$ largo 'x 0.1234567890123 y'\nx 0.1234567890123 z\n```\n", 1, 1),
    ("```console\n$ largo 0.123456\n0.123457\n```\n", 1, 1),
    ("```console\n$ largo 0.5\n-0.5\n```\n", 1, 1),
    ("```console\n$ largo 1.0\n1.00\n```\n", 1, 1),
    ("```console\n$ largo fail it\nlargo: it is wrong\n```\n", 1, 0),
    ("```console\n$ largo fail it\nlargo: this is wrong\n```\n", 1, 1),
    ("```console\n$ largo crash\n```\n", 1, 1),
    ("```console\n$ largo 'largo: fine'\nlargo: fine\n```\n", 1, 1),
    ("```console\n$ largo a > file\n$ cat file\na\n```\ntext\n```console\n$ cat file\nb\n```\n", 3, 1),
    ("```console\n$ cmake --version\nno matter what\n$ largo a\na\n```\n", 1, 0),
    ("<!-- not run -->\n```console\n$ largo a\nb\n```\n```console\n$ largo a\nb\n```\n", 1, 1),
    ("<!-- not run -->\n\n```console\n$ largo a\nb\n```\n", 0, 0),
    ("```sh\n$ largo a\nb\n```\n```\n$ largo a\nb\n```\n", 0, 0),
    ("$ largo a\nb\n", 0, 0),
]


def self_test():
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="largo-docs-") as folder:
        largo = os.path.join(folder, "stand-in")
        with open(largo, "w", encoding="ascii") as file:
            file.write(STAND_IN)
        os.chmod(largo, 0o755)
        for text, commands, differ in SELF_TEST:
            run, problems = run_page("page", text, largo, None)
            if (run, len(problems)) != (commands, differ):
                wrong += 1
                print(f"{text!r}: {run} run and {len(problems)} differ, must be {commands} and {differ}")
        try:
            run_page("page", "```console\n$ largo a\na\n", largo, None)
            wrong += 1
            print("a block without end was accepted")
        except ValueError:
            pass
        # This goes the whole way to the exit code, with data copied from the repository.
        os.makedirs(os.path.join(folder, "source", "docs"))
        os.makedirs(os.path.join(folder, "source", "examples", "data"))
        for name, text in (("README.md", ""), ("examples/data/file", "b\n")):
            with open(os.path.join(folder, "source", name), "w", encoding="utf-8") as file:
                file.write(text)
        for text, code in (("", 1), ("```console\n$ cat file\nb\n```\n", 0), ("```console\n$ cat file\nc\n```\n", 1)):
            with open(os.path.join(folder, "source", "docs", "page.md"), "w", encoding="utf-8") as file:
                file.write(text)
            command = [sys.executable, os.path.abspath(__file__), "--largo", largo, "--source",
                       os.path.join(folder, "source")]
            got = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
            if got != code:
                wrong += 1
                print(f"{shlex.join(command)} with page {text!r} ended with {got}, must be {code}")
    print(f"self-test: {len(SELF_TEST) + 4} cases, {wrong} wrong")
    return 0 if wrong == 0 else 1


def main():
    parser = argparse.ArgumentParser(description="Runs the examples of the documentation.")
    parser.add_argument("--largo", help="the binary")
    parser.add_argument("--source", help="the repository")
    parser.add_argument("--examples", help="the folder of the example programs")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if arguments.largo is None or arguments.source is None:
        parser.error("--largo and --source are needed")
    return run_documentation(arguments.source, arguments.largo, arguments.examples)


if __name__ == "__main__":
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.exit(main())
