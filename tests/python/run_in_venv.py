"""Installs the built module into a new virtual environment, without an index, and runs the tests there.

A build with AddressSanitizer runs the tests of odd input alone, with the sanitizer's library loaded first.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def sanitizer(compiler):
    """What a Python without the sanitizer has to load before an extension with it."""
    library = subprocess.run([compiler, "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    # Python itself leaks at exit and has its own signal handlers; C++ exceptions have to be found early.
    runtime = subprocess.run([compiler, "-print-file-name=libstdc++.so.6"], check=True, capture_output=True, text=True)
    return {"LD_PRELOAD": f"{library.stdout.strip()} {runtime.stdout.strip()}",
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1", "PYTHONMALLOC": "malloc"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--largo", required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", default="")
    parser.add_argument("--type", default="Release")
    parser.add_argument("rest", nargs="*", help="for pytest")
    options = parser.parse_args()
    checked = options.type == "Debug" and "address" in options.flags
    environment = {**os.environ, "LARGO_CLI": options.largo, "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, ROOT / "python/make_wheel.py", "--build", options.build, "--out", folder],
                       check=True)
        place = pathlib.Path(folder) / "env"
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", place], check=True)
        python = place / "bin/python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                        *pathlib.Path(folder).glob("*.whl")], check=True, env=environment)
        tests = [HERE / name for name in ("test_odd_inputs.py", "test_laws.py", "test_tasks.py", "test_pickle.py")] if checked else [HERE]
        if checked:
            environment.update(sanitizer(options.compiler))
        command = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir", HERE, *tests, *options.rest]
        return subprocess.run(command, env=environment, cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
