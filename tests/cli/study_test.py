"""largo run, status and report from outside: kills at random moments, two processes, full disks, bad files.

Every resumed study must end with the content hash of the uninterrupted run. LARGO_LONG_TESTS=1 kills 200 times (and
200 times under mpirun) instead of 15 (and 3), and measures a study of 100,000 units.
"""

import csv
import ctypes
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import largo_cli

LONG = os.environ.get("LARGO_LONG_TESTS") == "1"
SEED = int(os.environ.get("LARGO_TEST_SEED", "1"))  # for the moments of the kills
MPIRUN = os.environ.get("MPIRUN", "").split()

MOMENTS = 'title = "Moments"\nquantity = "moments"\n[grid]\ns = "0.1:3:{}"\nL = "1e3:1e6:{}"\n'
ICL_FLOW = 'quantity = "icl-flow"\n[settings]\nd = 3\ncov = "toeplitz:0.5"\n[grid]\nL = "10:1e6:200"\n'


def obey_permissions():
    """For root, too: in the process about to be started, the capabilities to pass them over are dropped."""
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
    if os.geteuid() != 0:
        return
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        if ctypes.CDLL(None, use_errno=True).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


class StudyTest(largo_cli.CliTest):
    def start(self, *arguments, launcher=(), **options):
        environment = {name: value for name, value in os.environ.items() if name != "LARGO_SIMD"}
        return subprocess.Popen([*launcher, largo_cli.BINARY, *arguments], cwd=self.folder, env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def check_store(self, store, units=None):
        """Intact, and no unit twice."""
        if os.path.getsize(self.path(store)) == 0:
            return
        connection = sqlite3.connect(self.path(store), timeout=10)
        try:
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                return
            rows, names = connection.execute("SELECT count(*), count(DISTINCT id) FROM units").fetchone()
            self.assertEqual(rows, names)
            if units is not None:
                self.assertEqual(rows, units)
        finally:
            connection.close()

    def content(self, store):
        return self.json("status", store)["content"]


class Commands(StudyTest):
    def test_run_status_report(self):
        self.write("m.toml", MOMENTS.format(3, 4))
        planned = self.json("run", "m.toml", "--dry-run")
        self.assertEqual((planned["units"], planned["pending"]), (12, 12))
        self.assertEqual(os.listdir(self.folder), ["m.toml"])
        run = self.json("run", "m.toml")
        self.assertEqual((run["units"], run["done"], run["ran"], run["failed"]), (12, 12, 12, 0))
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.sqlite", "m.toml"])
        status = self.json("status", "m.sqlite")
        self.assertEqual((status["units"], status["done"], status["running"]), (12, 12, False))
        self.assertEqual(status["content"], run["content"])
        self.assertEqual(self.json("run", "m.toml")["ran"], 0)
        self.succeed("report", "m.sqlite", "--csv", "m.csv")
        with open(self.path("m.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 12)
        exact = self.json("moments", "--s", "0.1", "--L", "1000")
        self.assertEqual(float(rows[0]["P2"]), exact["P2"])
        self.assertEqual(float(rows[0]["effective_tokens"]), exact["effective_tokens"])
        exported = self.json("report", "m.sqlite")
        self.assertEqual(exported["rows"][0]["results"]["mse"]["value"], exact["mse"])
        self.assertEqual(exported["configuration"]["grid"]["s"], [0.1, 1.55, 3])
        self.check_store("m.sqlite", 12)
        self.succeed("report", "m.sqlite")
        with open(self.path("m.html"), encoding="utf-8") as file:
            page = file.read()
        data = json.loads(re.search(r'id="largo-data">(.*?)</script>', page, re.S).group(1))
        self.assertEqual((data["kind"], len(data["sections"])), ("study", 7))
        # The hash is the last item on the page.
        self.assertEqual(data["about"], [{"label": "Content", "value": run["content"]}])
        self.assertNotIn(run["content"], data["intro"])
        self.assertEqual(data["sections"][0]["figures"][0]["x"], "s")
        drawn = data["sections"][0]["figures"][0]["panels"][0]["curves"][0]["y"][0]
        self.assertLess(abs(drawn - exact["P2"]), 1e-7 * exact["P2"])  # figures have eight digits
        self.refuse("report", "m.sqlite", "--out", "m.txt", fragment=".html")
        self.succeed("report", "m.sqlite", "--x", "L")
        with open(self.path("m.html"), encoding="utf-8") as file:
            data = json.loads(re.search(r'id="largo-data">(.*?)</script>', file.read(), re.S).group(1))
        figure = data["sections"][0]["figures"][0]
        self.assertEqual((figure["x"], [view["x"] for view in figure["views"]]), ("L", ["s"]))
        self.assertEqual(data["command"], "largo report m.sqlite --x L")
        self.refuse("report", "m.sqlite", "--x", "l", "--out", "l.html", fragment="s, L")
        self.refuse("report", "m.sqlite", "--x", "L", "--csv", "l.csv", fragment="--out")

    def test_set(self):
        self.write("m.toml", MOMENTS.format(3, 4))
        self.assertEqual(self.json("run", "m.toml", "--set", "L=10,100", "--set", "s=1", "--store", "a.sqlite")["units"], 2)
        self.assertEqual(self.json("run", "m.toml", "--set", "L=10,100,1000", "--set", "s=1", "--store", "a.sqlite")["ran"], 1)
        self.assertEqual(self.json("run", "m.toml", "--seed", "7", "--store", "b.sqlite")["units"], 12)
        self.succeed("report", "b.sqlite", "--csv", "b.csv")
        with open(self.path("b.csv"), encoding="utf-8") as file:
            self.assertEqual({row["seed"] for row in csv.DictReader(file)}, {"7"})
        self.refuse("run", "m.toml", "--set", "L", fragment="KEY=VALUE")
        self.refuse("run", "m.toml", "--set", "l=3", fragment="did you mean 'L'?")
        self.refuse("run", "m.toml", "--set", "L=none", fragment="--set L")

    def test_failures(self):
        self.write("f.toml", 'quantity = "moments"\n[grid]\ns = [1, -1]\nL = [10]\n')
        for _ in range(2):
            result = self.run_largo("run", "f.toml")
            self.assertEqual((result.code, result.err), (1, ""), result)
            self.assertIn("1 unit failed", result.out)
            self.assertIn("-1", result.out)
        self.assertEqual(self.json("status", "f.sqlite")["failures"][0]["inputs"]["s"], -1)
        self.assertIn("1 of 2 units failed: largo status f.sqlite says why", self.succeed("report", "f.sqlite", "--csv", "f.csv"))
        self.refuse("report", "f.sqlite", "--csv", "-", fragment="--csv is '-', must be the name of a file")

    def test_bad_files(self):
        cases = {
            'quantity = "moments"\n[grid]\nL = [10]\nsgima = [1]\n': ":4: ",
            'quantity = "concentration"\n[settings]\nsgima = 1\n[grid]\nL = [10]\n': ":3: concentration has no parameter "
                                                                                   "'sgima' (did you mean 'sigma'?)",
            'quantity = "moments"\n[grid]\nL = [10]\ns = "wide"\n': ":4: ",
            'quantity = "icl-risk"\n[settings]\ncovariates = "rademacher"\n[grid]\nL = [10]\n':
                "(the covariates of a study are Gaussian; largo icl risk --covariates has other laws)",
            'quantity = "moments"\n[grid]\nL = []\ns = [1]\n': ":3: ",
            'quantity = "moments"\n[grid]\nL = [nan]\ns = [1]\n': ":3: ",
            'quantity = "moments"\nseed = 1\nseed = 2\n': ":3: ",
            'quantity = "moments"\n[grid]\nL = "1:1e6:1000"\ns = "1:2:1000"\nseed = "0:999:1000"\n': "1000000000 units",
            'quantity = "moment"\n': "did you mean 'moments'?",
            "quantity = ": ":1: ",
        }
        for text, fragment in cases.items():
            self.write("bad.toml", text)
            self.refuse("run", "bad.toml", fragment=fragment)
            self.refuse("run", "bad.toml", "--dry-run", fragment="bad.toml")
        self.refuse("run", "none.toml", fragment="none.toml")
        self.refuse("run", ".", fragment="not a file")

    def test_bad_stores(self):
        self.write("m.toml", MOMENTS.format(2, 2))
        self.write("text.sqlite", "a,b\n1,2\n" * 100)
        for command in (("run", "m.toml", "--store"), ("status",), ("report", "--csv", "x.csv")):
            self.refuse(*command, "text.sqlite", fragment="not a store")
            self.refuse(*command, ".", fragment="not a file")
        self.refuse("status", "none.sqlite", fragment="no such store")
        self.succeed("run", "m.toml")
        self.refuse("run", "m.toml", "--seed", "2", fragment="another study")
        connection = sqlite3.connect(self.path("m.sqlite"))
        connection.execute("PRAGMA user_version = 7")
        connection.close()
        for command in (("run", "m.toml"), ("status", "m.sqlite"), ("report", "m.sqlite", "--csv", "x.csv")):
            self.refuse(*command, fragment="version 7")

    def test_reports_leave_the_store_alone(self):
        self.write("m.toml", MOMENTS.format(2, 2))
        for store in ("m.sqlite", "m.html"):
            content = self.json("run", "m.toml", "--store", store)["content"]
            os.symlink(store, self.path("link"))
            for name in (store, "./" + store, "link", self.path(store)):
                self.refuse("report", store, "--csv", name, fragment="which the command reads")
            self.refuse("report", store, "--csv", "x.html", "--out", "x.html", fragment="the same file")
            os.remove(self.path("link"))
            self.assertEqual(self.content(store), content)
        self.refuse("report", "m.html", fragment="which the command reads")  # its default page
        self.assertEqual(self.content("m.html"), content)

    def test_reports_leave_studies_alone(self):
        self.write("m.toml", MOMENTS.format(2, 2))
        self.succeed("run", "m.toml")
        for name in ("m.toml", "./m.toml", "other.sqlite"):
            self.refuse("report", "m.sqlite", "--csv", name, fragment=f"--csv is '{name}', must be")
        self.refuse("report", "m.sqlite", "--out", "m.toml", fragment="a .html file")
        with open(self.path("m.toml"), encoding="utf-8") as file:
            self.assertEqual(file.read(), MOMENTS.format(2, 2))

    def test_read_only_folder(self):
        """With a store that has something left to be done, and without one."""
        self.write("m.toml", MOMENTS.format(2, 2))
        os.mkdir(self.path("locked"))
        self.json("run", "m.toml", "--store", "locked/m.sqlite", "--set", "s=1")
        before = self.content("locked/m.sqlite")
        os.chmod(self.path("locked/m.sqlite"), 0o444)
        os.chmod(self.path("locked"), 0o555)
        try:
            for name in ("m.sqlite", "new.sqlite"):
                process = self.start("run", "m.toml", "--store", f"locked/{name}", preexec_fn=obey_permissions)
                out, err = process.communicate(timeout=60)
                self.assertEqual((process.returncode, out, err.count(b"\n")), (2, b"", 1), err)
                self.assertIn(b"the folder cannot be written (Permission denied)", err)
            process = self.start("status", "locked/m.sqlite", "--json", preexec_fn=obey_permissions)
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err), (0, b""))
            self.assertEqual(json.loads(out)["content"], before)
            process = self.start("report", "locked/m.sqlite", preexec_fn=obey_permissions)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 2, err)
            self.assertIn(b"cannot be written", err)
            self.assertEqual(os.listdir(self.path("locked")), ["m.sqlite"])
        finally:
            os.chmod(self.path("locked"), 0o755)
        process = self.start("run", "m.toml", "--store", "locked/m.sqlite", preexec_fn=obey_permissions)
        out, err = process.communicate(timeout=60)  # only the file is read-only now
        self.assertEqual((process.returncode, out, err.count(b"\n")), (2, b"", 1), err)
        self.assertIn(b"this store cannot be written", err)
        self.assertEqual(os.listdir(self.path("locked")), ["m.sqlite"])

    def test_folder_that_cannot_be_written(self):
        self.write("m.toml", MOMENTS.format(2, 2))
        for dry in ([], ["--dry-run"]):
            self.refuse("run", "m.toml", "--store", "nowhere/m.sqlite", *dry, fragment="cannot be written")
            self.refuse("run", "m.toml", "--store", "/proc/m.sqlite", *dry, fragment="cannot be written")


class Interrupted(StudyTest):
    def test_kills(self):
        self.write("m.toml", MOMENTS.format(30, 200))
        started = time.monotonic()
        whole = self.json("run", "m.toml", "--store", "whole.sqlite")
        self.kill_often("m.toml", 6000, whole["content"], time.monotonic() - started, 200 if LONG else 15, ())

    def test_kills_of_long_units(self):
        units = 12 if LONG else 5
        self.write("f.toml", ICL_FLOW.replace("200", str(units)))
        started = time.monotonic()
        whole = self.json("run", "f.toml", "--store", "whole.sqlite")
        self.kill_often("f.toml", units, whole["content"], time.monotonic() - started, 4 if LONG else 2, ())

    @unittest.skipUnless(MPIRUN, "this build has no MPI")
    def test_kills_of_mpi(self):
        self.write("m.toml", MOMENTS.format(30, 200))
        whole = self.json("run", "m.toml", "--store", "whole.sqlite")
        started = time.monotonic()
        launcher = (*MPIRUN, "-n", "3")
        code = self.start("run", "m.toml", "--store", "mpi.sqlite", "--threads", "1", launcher=launcher)
        code.communicate(timeout=600)
        self.assertEqual(code.returncode, 0)
        self.assertEqual(self.content("mpi.sqlite"), whole["content"])
        self.kill_often("m.toml", 6000, whole["content"], time.monotonic() - started, 200 if LONG else 3, launcher)

    def kill_often(self, study, units, expected, seconds, kills, launcher):
        """A study, killed at random moments until it is through, again and again."""
        moments = random.Random(SEED)
        done, rounds, journals = 0, 0, 0
        while done < kills:
            rounds += 1
            store = f"kill{rounds}.sqlite"
            before = 0
            while True:
                process = self.start("run", study, "--store", store, "--threads", "1" if launcher else "2",
                                     launcher=launcher, start_new_session=True)
                try:
                    process.wait(timeout=moments.uniform(0, 1.2 * seconds) if done < kills else None)
                except subprocess.TimeoutExpired:
                    if moments.random() < 0.5:
                        self.wait_for_journal(store, moments.uniform(0, 0.02))
                    self.kill(process, store, moments.random() < 0.5 if launcher else False)
                    done += 1
                    journals += os.path.exists(self.path(store + "-journal"))
                out, err = process.communicate(timeout=60)
                if process.returncode == 0:
                    break
                if process.returncode > 0 and not launcher:
                    self.fail(f"exit code {process.returncode}: {out} {err}")
                if os.path.exists(self.path(store)):
                    self.check_store(store)
                    if not launcher:
                        before = self.check_progress(store, before)
            self.assertEqual(self.content(store), expected)
            self.check_store(store, units)
            leftovers = {name for name in os.listdir(self.folder) if name.startswith(store)} - {store}
            self.assertEqual(leftovers, set())
        print(f"{study}: {done} kills over {rounds} rounds, {journals} inside a transaction", file=sys.stderr)

    def wait_for_journal(self, store, then):
        """Until a transaction has begun, which lasts for milliseconds only, and a moment more."""
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline and not os.path.exists(self.path(store + "-journal")):
            pass
        time.sleep(then)

    def kill(self, process, store, launcher_too):
        """The process itself; under mpirun that which has the store, or mpirun."""
        if process.args[0] == largo_cli.BINARY:
            process.kill()
            return
        try:
            with open(self.path(store + ".lock"), encoding="ascii") as file:
                first = int(file.read() or "0")
        except (OSError, ValueError):
            first = 0
        if first == 0 or launcher_too:
            process.kill()
        if first != 0:
            try:
                os.kill(first, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.wait_for_lock(store)

    def wait_for_lock(self, store):
        """mpirun's own end takes its processes a moment later."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if not os.path.exists(self.path(store)):
                time.sleep(0.2)
                return
            result = self.run_largo("status", store, "--json")
            if result.code != 0 or not json.loads(result.out)["running"]:
                return
            time.sleep(0.05)
        self.fail("the processes of mpirun live on")

    def check_progress(self, store, before):
        """Nothing that was written is lost."""
        result = self.run_largo("status", store, "--json")
        if result.code != 0:
            self.assertIn("empty", result.err)
            self.assertEqual(before, 0)
            return 0
        now = json.loads(result.out)["done"]
        self.assertGreaterEqual(now, before)
        return now

    def test_ctrl_c(self):
        self.write("f.toml", ICL_FLOW)
        process = self.start("run", "f.toml")
        self.wait_for_units("f.sqlite", 1)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        out, err = process.communicate(timeout=60)
        print(f"stopped after {time.monotonic() - asked:.2f} s", file=sys.stderr)
        self.assertEqual((process.returncode, err), (130, b""))
        self.assertIn(b"run the same command again to continue", out)
        status = self.json("status", "f.sqlite")
        self.assertGreater(status["done"], 0)
        self.assertFalse(status["running"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["f.sqlite", "f.toml"])

    def test_hangup(self):
        """Under nohup it goes on; otherwise it ends as by Ctrl-C."""
        self.write("f.toml", ICL_FLOW.replace("200", "12"))
        for ignored, code in ((True, 0), (False, 130)):
            store = f"{code}.sqlite"
            process = self.start("run", "f.toml", "--store", store,
                                 preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL))
            self.wait_for_units(store, 1)
            process.send_signal(signal.SIGHUP)
            out, err = process.communicate(timeout=largo_cli.TIME_LIMIT)
            self.assertEqual((process.returncode, err), (code, b""), out)

    @unittest.skipUnless(MPIRUN, "this build has no MPI")
    def test_ctrl_c_of_mpi(self):
        self.write("f.toml", ICL_FLOW)
        process = self.start("run", "f.toml", "--threads", "1", launcher=(*MPIRUN, "-n", "3"))
        done = self.wait_for_units("f.sqlite", 1)["done"]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.wait_for_lock("f.sqlite")
        self.assertGreaterEqual(self.json("status", "f.sqlite")["done"], done)
        self.check_store("f.sqlite")

    def wait_for_units(self, store, count):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            result = self.run_largo("status", store, "--json")
            if result.code == 0 and json.loads(result.out)["done"] >= count:
                return json.loads(result.out)
            time.sleep(0.05)
        return self.fail("no unit is done after a minute")

    def test_two_processes(self):
        self.write("f.toml", ICL_FLOW)
        process = self.start("run", "f.toml")
        try:
            status = self.wait_for_units("f.sqlite", 1)
            self.assertTrue(status["running"])
            result = self.run_largo("run", "f.toml")
            self.assertEqual((result.code, result.out), (2, ""), result)
            self.assertIn(f"another largo is running this study (process {process.pid})", result.err)
            self.assertEqual(result.err.count("\n"), 1)
        finally:
            process.kill()
            process.communicate()
        # The lock of the killed process went with it.
        self.assertFalse(self.json("status", "f.sqlite")["running"])
        self.json("run", "f.toml", "--set", "L=10")

    def test_full_disk(self):
        """A limit on the size of files stands for a disk that is full."""
        self.write("m.toml", MOMENTS.format(30, 200))
        for limit in (4096, 200_000, 800_000):
            shutil.rmtree(self.folder)
            os.mkdir(self.folder)
            self.write("m.toml", MOMENTS.format(30, 200))
            process = self.start("run", "m.toml",
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            out, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, out), (1, b""), err)
            self.assertIn(b"is the disk full?", err)
            self.assertEqual(err.count(b"\n"), 1)
            self.check_store("m.sqlite")
            self.assertEqual(self.json("run", "m.toml")["done"], 6000)
            self.check_store("m.sqlite", 6000)

    def test_small_file_system(self):
        """A disk that is really full: journal and store have their place on it together."""
        os.mkdir(self.path("small"))
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", self.path("small")],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("file systems cannot be mounted here")
        try:
            self.write("m.toml", MOMENTS.format(30, 200))
            result = self.run_largo("run", "m.toml", "--store", "small/m.sqlite")
            self.assertEqual((result.code, result.out), (1, ""), result)
            self.assertIn("is the disk full?", result.err)
            self.check_store("small/m.sqlite")
            self.assertEqual(os.listdir(self.path("small")), ["m.sqlite"])
            subprocess.run(["mount", "-o", "remount,size=20m", self.path("small")], check=True)
            self.assertEqual(self.json("run", "m.toml", "--store", "small/m.sqlite")["done"], 6000)
            self.check_store("small/m.sqlite", 6000)
            subprocess.run(["mount", "-o", "remount,ro", self.path("small")], check=True)
            self.refuse("run", "m.toml", "--store", "small/m.sqlite", fragment="Read-only file system")
            self.assertEqual(self.json("status", "small/m.sqlite")["done"], 6000)
        finally:
            subprocess.run(["umount", self.path("small")], check=True)


@unittest.skipUnless(LONG, "LARGO_LONG_TESTS is not set")
class Large(StudyTest):
    def test_overhead(self):
        self.write("m.toml", MOMENTS.format(400, 250))
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            started = time.monotonic()
            run = self.json("run", "m.toml")
            wall = time.monotonic() - started
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            status = self.json("status", "m.sqlite")
            started = time.monotonic()
            self.json("status", "m.sqlite")
            asked = time.monotonic() - started
            started = time.monotonic()
            self.assertEqual(self.json("run", "m.toml")["ran"], 0)
            resumed = time.monotonic() - started
            print(f"{run['units']} units: {wall:.1f} s, {spent:.2f} s of CPU, {status['unit_seconds']:.1f} s in units; "
                  f"status {asked:.2f} s, run again {resumed:.2f} s", file=sys.stderr)
            os.remove(self.path("m.sqlite"))


if __name__ == "__main__":
    unittest.main()
