"""What the tests of the command line share: running it, and writing its input files byte by byte.

The binary is the environment variable LARGO (ctest sets it). Nothing outside the standard library.
"""

import json
import math
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

BINARY = os.path.abspath(os.environ["LARGO"])
TIME_LIMIT = 120 * float(os.environ.get("LARGO_PATIENCE", "1"))  # seconds for one command; the slowest takes a few, and more under the sanitizers


class Result:
    def __init__(self, completed):
        self.code = completed.returncode
        self.out = completed.stdout.decode()
        self.err = completed.stderr.decode()

    def __str__(self):
        return f"exit code {self.code}\nstdout: {self.out[:2000]!r}\nstderr: {self.err[:2000]!r}"


class CliTest(unittest.TestCase):
    """A test in a folder of its own, in which commands run."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="largo-cli-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        mode = "wb" if isinstance(content, bytes) else "w"
        with open(self.path(name), mode) as file:
            file.write(content)
        return name

    def run_largo(self, *arguments, simd=None):
        environment = {name: value for name, value in os.environ.items() if name != "LARGO_SIMD"}
        if simd is not None:
            environment["LARGO_SIMD"] = simd
        completed = subprocess.run([BINARY, *arguments], cwd=self.folder, env=environment, capture_output=True,
                                   stdin=subprocess.DEVNULL, timeout=TIME_LIMIT, check=False)
        return Result(completed)

    def succeed(self, *arguments, simd=None):
        result = self.run_largo(*arguments, simd=simd)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(result.err, "", result)
        return result.out

    def refuse(self, *arguments, fragment="", simd=None):
        """Exit code 2, one line of error, and nothing written."""
        before = sorted(os.listdir(self.folder))
        result = self.run_largo(*arguments, simd=simd)
        with self.subTest(arguments=arguments):
            self.assertEqual(result.code, 2, result)
            self.assertEqual(result.out, "", result)
            self.assertTrue(result.err.startswith("largo: ") and result.err.endswith("\n"), result)
            self.assertEqual(result.err.count("\n"), 1, result)
            self.assertGreater(len(result.err), len("largo: \n"), result)
            self.assertIn(fragment, result.err, result)
            self.assertEqual(sorted(os.listdir(self.folder)), before, "something was written")

    def json(self, *arguments, simd=None):
        """The one object that --json prints, on one line and with nothing around it."""
        out = self.succeed(*arguments, "--json", simd=simd)
        self.assertTrue(out.endswith("}\n") and out.count("\n") == 1, out)
        value = json.loads(out)
        self.assertIsInstance(value, dict)
        return value

    def assert_close(self, actual, expected, tolerance):
        """Nested lists of the same shape, each number within tolerance * max(1, |expected|)."""
        if isinstance(expected, list):
            self.assertIsInstance(actual, list)
            self.assertEqual(len(actual), len(expected))
            for one, other in zip(actual, expected):
                self.assert_close(one, other, tolerance)
        else:
            self.assertTrue(math.isfinite(actual))
            self.assertLessEqual(abs(actual - expected), tolerance * max(1.0, abs(expected)))


def npy_header(shape, descr="'<f8'", fortran="False", version=1):
    """A padded header; shape, descr and fortran are Python source, so that malformed ones can be written."""
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    length_bytes = 2 if version == 1 else 4
    text += b" " * (-(6 + 2 + length_bytes + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(length_bytes, "little") + text


def npy(rows, scalar="d", fortran=False):
    """The bytes of a two-dimensional .npy file; scalar is "d" or "f"."""
    order = zip(*rows) if fortran else rows
    values = [value for line in order for value in line]
    descr = "'<f8'" if scalar == "d" else "'<f4'"
    header = npy_header(f"({len(rows)}, {len(rows[0])})", descr, str(fortran))
    return header + struct.pack(f"<{len(values)}{scalar}", *values)


def read_npy(path):
    """Rows of a C-order float64 file."""
    with open(path, "rb") as file:
        content = file.read()
    if content[:8] != b"\x93NUMPY\x01\x00":
        raise ValueError("not a version 1 .npy file")
    begin = 10 + int.from_bytes(content[8:10], "little")
    if begin % 64 != 0:
        raise ValueError("data are not aligned")
    header = eval(content[10:begin], {"__builtins__": {}})  # pylint: disable=eval-used
    if header["descr"] != "<f8" or header["fortran_order"]:
        raise ValueError(f"unexpected header {header}")
    rows, columns = header["shape"]
    values = struct.unpack(f"<{rows * columns}d", content[begin:])
    return [list(values[i * columns:(i + 1) * columns]) for i in range(rows)]


def read_csv(path):
    with open(path, encoding="ascii") as file:
        return [[float(field) for field in line.split(",")] for line in file.read().splitlines()]


def csv(rows):
    return "".join(",".join(repr(value) for value in row) + "\n" for row in rows)


def safetensors_raw(header, data):
    """header is JSON text, so that malformed ones (with two equal keys) can be written."""
    encoded = header.encode()
    return len(encoded).to_bytes(8, "little") + encoded + data


def safetensors(tensors):
    """The bytes of a file with these named F64 matrices."""
    header, data = {}, b""
    for name, rows in tensors.items():
        values = [value for row in rows for value in row]
        begin = len(data)
        data += struct.pack(f"<{len(values)}d", *values)
        header[name] = {"dtype": "F64", "shape": [len(rows), len(rows[0])], "data_offsets": [begin, len(data)]}
    return safetensors_raw(json.dumps(header), data)
