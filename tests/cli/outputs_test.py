"""What commands write, where something is there already: links, permissions, limits; and stores that are damaged."""

import csv
import json
import os
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import unittest

import largo_cli

MOMENTS = 'quantity = "moments"\n[grid]\ns = "0.1:3:{}"\nL = "1e3:1e6:{}"\n'
SMALL = ["reproduce", "--quick", "--only", "lemma", "--out", "out"]


class Outputs(largo_cli.CliTest):
    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def mode(self, name):
        return stat.S_IMODE(os.lstat(self.path(name)).st_mode)

    def store(self, units=2):
        self.write("m.toml", MOMENTS.format(units, units))
        self.succeed("run", "m.toml")

    def test_links_are_written_through(self):
        self.store()
        self.write("target", "old")
        for link, target in (("link.csv", "target"), ("dangling.csv", "made")):
            os.symlink(target, self.path(link))
            self.succeed("report", "m.sqlite", "--csv", link)
            self.assertTrue(os.path.islink(self.path(link)))
            self.assertTrue(self.read(target).startswith(b"s,L,"))
        os.symlink("nowhere/made", self.path("lost.csv"))
        self.refuse("report", "m.sqlite", "--csv", "lost.csv", fragment="cannot be written")

    def test_reproduce_through_links(self):
        """A page that is a link is written where it leads, with the old one gone before, also the second time."""
        os.makedirs(self.path("out"))
        self.write("page.html", "old")
        for name, target in (("report.html", "../page.html"), ("report.json", "../data.json")):
            os.symlink(target, self.path(os.path.join("out", name)))
        for _ in range(2):
            self.succeed(*SMALL)
            for name, target in (("report.html", "page.html"), ("report.json", "data.json")):
                self.assertTrue(os.path.islink(self.path(os.path.join("out", name))))
                self.assertGreater(len(self.read(target)), 1000)
        self.assertIn(b"largo-data", self.read("page.html"))

    def test_permissions_are_kept(self):
        self.store()
        for mode in (0o600, 0o640, 0o755):
            self.write("x.csv", "old")
            os.chmod(self.path("x.csv"), mode)
            self.succeed("report", "m.sqlite", "--csv", "x.csv")
            self.assertEqual(self.mode("x.csv"), mode)
            self.assertTrue(self.read("x.csv").startswith(b"s,L,"))
        self.succeed("report", "m.sqlite", "--csv", "new.csv")
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual(self.mode("new.csv"), 0o666 & ~umask)

    def test_read_only_files_are_refused(self):
        """For root, too: the work of a moment before was protected on purpose."""
        self.store()
        self.write("x.csv", "old")
        os.chmod(self.path("x.csv"), 0o444)
        os.symlink("x.csv", self.path("link.csv"))
        for name in ("x.csv", "link.csv"):
            self.refuse("report", "m.sqlite", "--csv", name, fragment="read-only")
        self.assertEqual(self.read("x.csv"), b"old")
        os.makedirs(self.path("out"))
        self.write("out/report.html", "old")
        os.chmod(self.path("out/report.html"), 0o444)
        self.refuse(*SMALL, fragment="read-only")
        self.assertEqual(os.listdir(self.path("out")), ["report.html"])

    def limited(self, limit, *arguments):
        return subprocess.run([largo_cli.BINARY, *arguments], cwd=self.folder, capture_output=True, timeout=60, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))

    def test_limits_on_the_size_of_files(self):
        self.store(20)
        self.write("old.csv", "old")
        before = sorted(os.listdir(self.folder))
        for options in (["--csv", "old.csv"], ["--csv", "new.csv"], ["--out", "new.html"]):
            done = self.limited(10_000, "report", "m.sqlite", *options)
            self.assertEqual((done.returncode, done.stdout), (2, b""), done)
            self.assertIn(b"cannot be written: File too large", done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
            self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertEqual(self.read("old.csv"), b"old")
        with open(self.path("out.json"), "wb") as file:
            done = subprocess.run([largo_cli.BINARY, "report", "m.sqlite", "--json"], cwd=self.folder, stdout=file,
                                  stderr=subprocess.PIPE, timeout=60, check=False,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(b"standard output could not be written", done.stderr)

    def test_a_full_device(self):
        self.store(20)
        with open("/dev/full", "wb") as file:
            done = subprocess.run([largo_cli.BINARY, "report", "m.sqlite", "--json"], cwd=self.folder, stdout=file,
                                  stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, b"largo: standard output could not be written\n"))


class Studies(largo_cli.CliTest):
    def test_typos_write_nothing(self):
        text = 'quantity = "concentration"\n[settings]\nlaw = "{}"\nd = 2\nquery = "1,0"\n[grid]\nL = [10, 100]\n'
        self.write("e.toml", text.format("gausian"))
        for more in ([], ["--dry-run"]):
            self.refuse("run", "e.toml", *more, fragment="'gausian' is not a law")
        self.write("e.toml", text.format("gaussian"))
        self.assertEqual(self.json("run", "e.toml")["done"], 2)
        self.refuse("run", "e.toml", "--set", "L=10", "--set", "L=20", fragment="--set L: this parameter is set twice")
        self.refuse("run", "e.toml", "--seed", "2", "--set", "seed=3", fragment="--set seed: this parameter is set twice")

    def test_files_in_mixtures_are_noticed(self):
        """The prompt that a mixture names, in a mixture: changed, it is another unit, with the results of a fresh run."""
        component = '[[component]]\nweight = 1\nlaw = "{}"\n'
        self.write("inner.toml", component.format("tokens:t.csv"))
        self.write("outer.toml", component.format("mixture:inner.toml") + component.format("gaussian"))
        self.write("e.toml", 'quantity = "concentration"\nmethod = "sampled"\n[settings]\nlaw = "mixture:outer.toml"\nd = 1\n'
                             'query = "1"\nprompts = 100\n[grid]\nL = [10]\n')
        contents = set()
        for tokens in ("1\n2\n", "1\n5\n", "1\n2\n"):
            self.write("t.csv", tokens)
            run = self.json("run", "e.toml")
            self.assertEqual(run["done"], 1)
            fresh = self.json("run", "e.toml", "--store", f"fresh{len(contents)}-{run['ran']}.sqlite")
            self.assertEqual(run["content"], fresh["content"])
            contents.add(run["content"])
        self.assertEqual(len(contents), 2)
        self.assertEqual(run["ran"], 0)  # the unit of the first round was kept

    def test_deep_nesting(self):
        deep = "a" + ".a" * 40_000
        for text in (f"{deep} = 1\n", f"[{deep}]\n", "a = " + "[" * 40_000):
            self.write("deep.toml", text)
            self.refuse("run", "deep.toml", fragment="deep.toml:1: values are nested more than 16 deep")
            self.refuse("attention", "--law", "mixture:deep.toml", "--query", "1", fragment="nested more than 16 deep")

    def test_damaged_units(self):
        self.write("m.toml", 'quantity = "moments"\n[grid]\ns = [1, -1]\nL = [10]\n')
        self.assertEqual(self.run_largo("run", "m.toml").code, 1)
        connection = sqlite3.connect(self.path("m.sqlite"))
        with connection:
            connection.execute("UPDATE units SET inputs = '{\"s\":'")
        connection.close()
        for command in (("report", "m.sqlite", "--csv", "x.csv"), ("report", "m.sqlite"), ("status", "m.sqlite")):
            self.refuse(*command, fragment="m.sqlite: this store is damaged: the inputs of unit")

    def test_formulas(self):
        self.write("m.toml", 'quantity = "moments"\n[grid]\ns = [1, -1]\nL = [10]\n')
        self.run_largo("run", "m.toml")
        connection = sqlite3.connect(self.path("m.sqlite"))
        with connection:
            connection.execute("UPDATE units SET message = '=cmd|1' WHERE state = 'failed'")
        connection.close()
        self.succeed("report", "m.sqlite", "--csv", "x.csv")
        with open(self.path("x.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["s"] for row in rows], ["1", "-1"])  # numbers stay numbers
        self.assertEqual(rows[1]["message"], "'=cmd|1")

    def memory(self, *arguments):
        """The most that the command has had, in MB; its output goes to the file "out"."""
        environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}
        with open(self.path("out"), "wb") as out:
            process = subprocess.Popen([largo_cli.BINARY, *arguments], cwd=self.folder, stdout=out, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
        self.assertEqual(status, 0)
        return usage.ru_maxrss / 1024

    def test_memory_of_reports(self):
        """100,000 rows: a table of them would take some 200 MB, and as JSON 350 MB."""
        self.write("m.toml", 'quantity = "moments"\n[grid]\ns = [1]\nL = "1e3:1e6:10"\n')
        self.succeed("run", "m.toml")
        shutil.copy(self.path("m.sqlite"), self.path("few.sqlite"))
        connection = sqlite3.connect(self.path("m.sqlite"))
        with connection:
            names = [row[1] for row in connection.execute("PRAGMA table_info(units)")][1:]
            others = ", ".join(f'"{name}"' for name in names if name not in ("id", "ordinal"))
            connection.execute(f"""INSERT INTO units (id, ordinal, {others})
                WITH RECURSIVE n(k) AS (SELECT 10 UNION ALL SELECT k + 1 FROM n WHERE k < 99999)
                SELECT randomblob(16), k, {others} FROM n, units WHERE unit = 1""")
            connection.execute("UPDATE study SET units = 100000")
        connection.close()
        for options in (["--csv", "x.csv"], ["--json"]):
            few, many = (self.memory("report", store, *options) for store in ("few.sqlite", "m.sqlite"))
            print(f"report {options[0]}: {few:.0f} MB for 10 rows, {many:.0f} MB for 100,000", file=sys.stderr)
            self.assertLess(many - few, 60)
        with open(self.path("out"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["rows"]), 100_000)
        with open(self.path("x.csv"), encoding="utf-8") as file:
            self.assertEqual(sum(1 for _ in file), 100_001)

    def test_a_report_is_stopped(self):
        """While its output waits in a pipe that nobody reads."""
        self.write("m.toml", MOMENTS.format(50, 50))
        self.succeed("run", "m.toml")
        process = subprocess.Popen([largo_cli.BINARY, "report", "m.sqlite", "--json"], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.assertTrue(process.stdout.read(10))
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (130, b"largo: stopped; the output is not complete\n"))


if __name__ == "__main__":
    unittest.main()
