#!/usr/bin/python3
"""Makes a wheel of a built module: python/make_wheel.py --build build/release --out FOLDER

A wheel is a zip file of the package and a folder of metadata (PEP 427); this one needs nothing but CMake and Python. The
same build gives the same bytes.
"""

import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def version():
    return re.search(r"project\(largo VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def tag(package):
    """Of the interpreter that the extension was built for: its name says so."""
    suffix = next(package.glob("_largo.*.so")).name.split(".")[1]  # cpython-311-x86_64-linux-gnu
    interpreter = "cp" + suffix.split("-")[1]
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{interpreter}-{interpreter}-{platform}"


def record(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as stage:
        subprocess.run(["cmake", "--install", options.build, "--component", "python", "--prefix", stage], check=True,
                       stdout=subprocess.DEVNULL)
        package = pathlib.Path(stage) / "largo"
        files = {f"largo/{file.name}": file.read_bytes() for file in sorted(package.iterdir()) if file.is_file()}
        label = tag(package)
    info = f"largo-{version()}.dist-info"
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: largo\nVersion: {version()}\n"
        "Summary: The large-prompt limit of softmax attention\nRequires-Python: >=3.9\nRequires-Dist: numpy>=1.22\n"
    ).encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: largo\nRoot-Is-Purelib: false\nTag: {label}\n".encode())
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    lines = [record(name, data) for name, data in files.items()] + [f"{info}/RECORD,,"]
    files[f"{info}/RECORD"] = ("\n".join(lines) + "\n").encode()
    wheel = options.out / f"largo-{version()}-{label}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(wheel)


if __name__ == "__main__":
    main()
