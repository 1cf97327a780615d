"""Ends that nobody asked for: streams that are closed or full, threads that cannot start, files cut short under us, no fonts.

One line where one can be written, and an exit code, never an abort.
"""

import os
import re
import resource
import signal
import subprocess
import time
import unittest

from largo_cli import BINARY, TIME_LIMIT, CliTest, npy_header

BAD = ["moments", "--s", "x", "--L", "10"]
GOOD = ["moments", "--s", "1", "--L", "10"]
STUDY = 'title = "streams"\nquantity = "moments"\n[grid]\nL = [10, 100]\ns = [1, 2]\n'
OTHER_USER = 54321  # nobody's id, so that a limit on its processes counts ours alone


class Streams(CliTest):
    def run_with(self, arguments, closed=(), **streams):
        def close():
            for stream in closed:
                os.close(stream)

        return subprocess.run([BINARY, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT, check=False,
                              preexec_fn=close, **streams)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_full(self):
        with open("/dev/full", "wb") as full:
            for arguments, code in ((BAD, 2), (["nosuch"], 2), (["status", "nosuch"], 2), (GOOD, 0)):
                self.assertEqual(self.run_with(arguments, stdout=subprocess.PIPE, stderr=full).returncode, code, arguments)
            for arguments in (GOOD, [*GOOD, "--json"], ["--help"], ["icl", "train", "--help"], ["--version"], ["doctor"]):
                got = self.run_with(arguments, stdout=full, stderr=subprocess.PIPE)
                self.assertEqual((got.returncode, got.stderr), (1, b"largo: standard output could not be written\n"), arguments)
                self.assertEqual(self.run_with(arguments, stdout=full, stderr=full).returncode, 1)

    def test_closed(self):
        for arguments, code in ((BAD, 2), (["nosuch"], 2), (GOOD, 0)):
            self.assertEqual(self.run_with(arguments, closed=[2], stdout=subprocess.PIPE).returncode, code, arguments)
            self.assertEqual(self.run_with(arguments, closed=[0, 2], stdout=subprocess.PIPE).returncode, code, arguments)
        for arguments in (GOOD, ["--help"]):
            got = self.run_with(arguments, closed=[1], stderr=subprocess.PIPE)
            self.assertEqual((got.returncode, got.stderr), (1, b"largo: standard output could not be written\n"), arguments)
            self.assertEqual(self.run_with(arguments, closed=[0, 1, 2]).returncode, 1)

    def test_no_file_becomes_standard_output(self):
        """The store would be the first file to be opened, under the number of what is closed."""
        self.write("study.toml", STUDY)
        self.assertEqual(self.run_with(["run", "study.toml"], closed=[0, 1, 2]).returncode, 1)
        self.assertEqual(self.json("status", "study.sqlite")["done"], 4)
        got = self.run_with(["attention", "--law", "gaussian", "--d", "2", "--query", "1,0", "--out", "out.csv"], closed=[0, 1, 2])
        self.assertEqual(got.returncode, 1)
        with open(self.path("out.csv"), encoding="ascii") as file:
            self.assertEqual(file.read(), "1,0\n")


class Threads(CliTest):
    def run_limited(self, processes, *arguments):
        """As another user where we are root, whom no limit stops."""
        user = {"user": OTHER_USER, "group": OTHER_USER, "extra_groups": []} if os.geteuid() == 0 else {}
        os.chmod(self.folder, 0o777)

        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))

        # LeakSanitizer needs a thread of its own at the end, and would not get it either.
        environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        return subprocess.run([BINARY, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIME_LIMIT, check=False, preexec_fn=limit, env=environment, **user)

    def test_threads_that_cannot_start(self):
        try:
            alone = self.run_limited(1, "moments", "--s", "0:6:40", "--L", "10,100", "--threads", "1")
        except OSError as error:
            self.skipTest(f"the program cannot be run as another user: {error}")
        self.assertEqual((alone.returncode, alone.stderr), (0, b""))
        self.assertEqual(alone.stdout.decode(), self.succeed("moments", "--s", "0:6:40", "--L", "10,100", "--threads", "8"))
        for processes in (1, 2, 3, 5):
            for command in (["moments", "--s", "0:6:40", "--L", "10,100"], ["doctor"], ["icl", "train", "--d", "2", "--L", "10,20,30"],
                            ["concentration", "--law", "gaussian", "--d", "2", "--query", "1,0", "--L", "100", "--method", "sampled"]):
                with self.subTest(processes=processes, command=command):
                    got = self.run_limited(processes, *command, "--threads", "8")
                    self.assertEqual((got.returncode, got.stdout, got.stderr.count(b"\n")), (2, b"", 1), got)
                    self.assertIn(b"--threads 1", got.stderr)

    def test_the_last_threads(self):
        """Those that wait for Ctrl-C, that run units and that look for fonts, beside the pool of one per core."""
        self.write("study.toml", 'title = "x"\nquantity = "moments"\n[grid]\ns = [1, 2]\nL = [10]\n')
        commands = [["icl", "train", "--d", "2", "--L", "10,20", "--time", "1"], ["run", "study.toml"],
                    ["concentration", "--law", "gaussian", "--d", "2", "--query", "1,0", "--L", "10", "--plot", "x.pdf"]]
        for extra in (1, 2, 3, 4):
            for command in commands:
                for threads in ("0", "1"):
                    try:
                        got = self.run_limited(os.cpu_count() - 1 + extra if threads == "0" else extra, *command, "--threads", threads)
                    except OSError as error:
                        self.skipTest(f"the program cannot be run as another user: {error}")
                    with self.subTest(extra=extra, command=command, threads=threads):
                        self.assertIn(got.returncode, (0, 2), got)
                        if got.returncode == 2:
                            self.assertEqual((got.stdout, got.stderr.count(b"\n")), (b"", 1), got)


class MappedFiles(CliTest):
    def test_a_file_that_is_cut_short(self):
        rows = 100_000_000  # 1.6 GB that take no room on the disk
        header = npy_header(f"({rows}, 2)")
        self.write("tokens.npy", header)
        os.truncate(self.path("tokens.npy"), len(header) + 16 * rows)
        with subprocess.Popen([BINARY, "attention", "--law", "tokens:tokens.npy", "--query", "1,0", "--out", "out.npy"],
                              cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.addCleanup(process.kill)
            end = time.monotonic() + TIME_LIMIT
            while self.resident(process) < 80_000 and process.poll() is None and time.monotonic() < end:
                time.sleep(0.001)
            os.truncate(self.path("tokens.npy"), len(header) + 4096)
            out, err = process.communicate(timeout=TIME_LIMIT)
        self.assertNotEqual(process.returncode, -signal.SIGBUS)
        self.assertEqual((process.returncode, out, err.count(b"\n")), (1, b"", 1), err)
        self.assertIn(b"cut short", err)
        self.assertEqual(os.listdir(self.folder), ["tokens.npy"])

    @staticmethod
    def resident(process):
        """Kilobytes of the file that the program has read."""
        with open(f"/proc/{process.pid}/smaps", encoding="utf-8") as file:
            _, _, mapping = file.read().partition("tokens.npy\n")
        found = re.search(r"^Rss: +(\d+) kB$", mapping, re.MULTILINE)
        return int(found[1]) if found else 0


class Fonts(CliTest):
    FIGURE = ["concentration", "--law", "gaussian", "--d", "2", "--query", "1,0", "--L", "10,100", "--plot"]

    def without_fonts(self, *arguments):
        self.write("fonts.conf", f"<fontconfig><cachedir>{self.folder}/cache</cachedir></fontconfig>")
        environment = {**os.environ, "FONTCONFIG_FILE": self.path("fonts.conf")}
        got = subprocess.run([BINARY, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, env=environment,
                             timeout=TIME_LIMIT, check=False)
        os.remove(self.path("fonts.conf"))
        return got

    def test_a_pdf_needs_a_font(self):
        got = self.without_fonts(*self.FIGURE, "figure.pdf")
        self.assertEqual((got.returncode, got.stdout, got.stderr.count(b"\n")), (2, b"", 1), got)
        self.assertIn(b"it has no fonts", got.stderr)
        self.assertNotIn("figure.pdf", os.listdir(self.folder))

    def test_an_svg_does_not(self):
        got = self.without_fonts(*self.FIGURE, "bare.svg")
        self.assertEqual((got.returncode, got.stderr), (0, b""), got)
        self.succeed(*self.FIGURE, "figure.svg")
        with open(self.path("bare.svg"), "rb") as bare, open(self.path("figure.svg"), "rb") as figure:
            self.assertEqual(bare.read(), figure.read())

    def test_reproduce_leaves_pdfs_out_and_says_so(self):
        self.succeed("reproduce", "--quick", "--only", "audit", "--out", "out")
        self.assertIn("audit.pdf", os.listdir(self.path("out/figures")))
        got = self.without_fonts("reproduce", "--quick", "--only", "audit", "--out", "out")
        self.assertEqual((got.returncode, got.stderr), (0, b""), got)
        self.assertIn(b"no fonts", got.stdout)
        self.assertEqual(sorted(os.listdir(self.path("out/figures"))), ["audit.csv", "audit.svg"])


if __name__ == "__main__":
    unittest.main()
