"""What the comparisons share: their options, the programs of a build, and one run of a Google Benchmark."""

import argparse
import json
import pathlib
import subprocess
import sys


def options(description, rounds):
    """The folder of the build and the number of rounds, from the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser.parse_args()


def built(program):
    """The path of a program of the build; the comparison ends where it is missing."""
    if not program.exists():
        sys.exit(f"{program} is not there: cmake --preset release && cmake --build --preset release")
    return program


def benchmark(program, name, *flags):
    """One run of the benchmark of this exact name: its times and counters."""
    out = subprocess.run([program, f"--benchmark_filter=^{name}$", "--benchmark_format=json", *flags], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)["benchmarks"][0]
