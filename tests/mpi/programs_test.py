"""Whole programs under mpirun: the command line, the example, and ways to leave a session.

The environment says where things are (ctest sets it): MPIRUN with its options, LARGO, LEAVE, and EXAMPLE where the
examples are built.
"""

import filecmp
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import unittest.mock

PATIENCE = float(os.environ.get("LARGO_PATIENCE", "1"))  # above 1 under sanitizers
TIME_LIMIT = 120 * PATIENCE  # seconds: a process that waits for ever fails the test, and so does a slow machine
LARGO, LEAVE, EXAMPLE = (os.environ.get(name, "") for name in ("LARGO", "LEAVE", "EXAMPLE"))
MPIRUN = os.environ["MPIRUN"].split()


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="largo-mpi-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_command(self, command, below=""):
        folder = os.path.join(self.folder, below)
        os.makedirs(folder, exist_ok=True)
        done = subprocess.run(command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, text=True,
                              timeout=TIME_LIMIT, check=False)
        return done.returncode, done.stdout, done.stderr

    def mpirun(self, ranks, *command, below=""):
        return self.run_command([*MPIRUN, "-n", str(ranks), *command], below)

    def files_below(self, below):
        top = os.path.join(self.folder, below)
        return sorted(os.path.relpath(os.path.join(folder, name), top)
                      for folder, _, names in os.walk(top) for name in names)


class CommandLine(Program):
    def assert_same(self, ranks, *arguments):
        alone = self.run_command([LARGO, *arguments], "alone")
        shared = self.mpirun(ranks, LARGO, *arguments, below="shared")
        self.assertEqual(shared, alone)
        self.assertEqual((alone[0], alone[2]), (0, ""))
        self.assertEqual(self.files_below("shared"), self.files_below("alone"))
        for name in self.files_below("alone"):
            self.assertTrue(filecmp.cmp(os.path.join(self.folder, "alone", name),
                                        os.path.join(self.folder, "shared", name), shallow=False), name)

    def test_same_output_and_files(self):
        self.assert_same(4, "moments", "--s", "0:2:3", "--L", "10,inf", "--csv", "table.csv")
        self.assert_same(2, "attention", "--law", "rademacher", "--d", "4", "--query", "random:7", "--L", "1000",
                         "--out", "outputs.npy", "--gradients", "--json")
        some = ["--only", "lemma,exact-error,other-laws"] if PATIENCE > 1 else []  # all take a quarter of an hour there
        with unittest.mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):  # no facts of processes or time
            self.assert_same(2, "reproduce", "--quick", *some, "--out", "report", "--threads", "1")
        self.assert_same(3, "concentration", "--law", "gaussian", "--d", "3", "--query-law", "gaussian", "--L", "2,50,1e4",
                         "--sigma", "0.5,1.5", "--method", "exact,sampled", "--prompts", "300", "--csv", "rows.csv",
                         "--plot", "figure.svg", "--json")
        self.assert_same(3, "icl", "train", "--d", "2", "--L", "10,inf", "--method", "flow,sgd", "--steps", "40", "--csv",
                         "paths.csv", "--plot", "paths.svg", "--checkpoints", "states", "--json")
        self.assert_same(3, "icl", "train", "--d", "2", "--L", "10,30", "--method", "flow,sgd", "--steps", "40", "--seeds", "3",
                         "--attention", "softmax,linear", "--parameters", "factored", "--nodes", "64", "--csv", "paths.csv",
                         "--checkpoints", "states", "--json")
        self.assert_same(2, "icl", "risk", "--d", "2", "--U", "random:1", "--V", "random:2", "--noise", "0.1", "--L", "10")
        self.assert_same(2, "icl", "risk", "--d", "2", "--covariates", "uniform", "--L", "10", "--json")
        self.assert_same(2, "icl", "threshold", "--d", "2", "--epsilon", "0.1")
        self.assert_same(2, "moments", "--help")

    TRAIN = ["icl", "train", "--d", "2", "--L", "10,20,30", "--method", "flow,sgd", "--steps", "40"]

    def test_all_processes_train(self):
        """Each with a folder of its own for checkpoints: all of them fill theirs."""
        first, second, third = ([LARGO, *self.TRAIN, "--checkpoints", folder] for folder in ("a", "b", "c"))
        code, out, err = self.mpirun(1, *first, ":", "-n", "1", *second, ":", "-n", "1", *third)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([os.path.dirname(name) for name in self.files_below("")], ["a", "b", "c"])
        self.assertEqual(out, self.run_command([LARGO, *self.TRAIN])[1])

    def test_training_ends_for_all(self):
        result = self.mpirun(3, LARGO, "icl", "train", "--d", "2", "--L", "10", "--method", "sgd", "--step-size", "10")
        self.assert_one_line(result, "diverged at step")
        long = [LARGO, "icl", "train", "--d", "2", "--L", "10,20", "--method", "sgd", "--steps", "1000000000"]
        with open(os.path.join(self.folder, "file"), "w", encoding="ascii"):
            pass
        result = self.mpirun(1, *long, "--checkpoints", "folder", ":", "-n", "1", *long, "--checkpoints", "file")
        self.assert_one_line(result, "file")  # it cannot save its states; the other would take hours
        if PATIENCE == 1:  # a sanitized process may still be at its start, and a run that has not begun leaves nothing
            self.assertEqual(len(self.files_below("folder")), 1)
        result = self.mpirun(1, *long, ":", "-n", "1", *long, "--batch", "64")
        self.assert_one_line(result, "different plans")

    def test_training_goes_on_after_an_interrupt(self):
        """With another number of processes, to the same bits."""
        arguments = [*self.TRAIN[:-1], "60000", "--json"]
        alone = self.run_command([LARGO, *arguments])
        resumed = [LARGO, *arguments, "--checkpoints", "states"]
        with subprocess.Popen([*MPIRUN, "-n", "3", *resumed], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            begin = time.monotonic()
            while len(self.files_below("states")) < 3 and process.poll() is None and time.monotonic() - begin < TIME_LIMIT:
                time.sleep(0.01)
            self.assertIsNone(process.poll(), "it was over before")
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=TIME_LIMIT)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(out, b"")
        self.assertEqual(self.mpirun(2, *resumed), alone)

    def test_a_signal_to_one_process_ends_all(self):
        """With one line, and with states of all runs, long before the first that would have been saved without it."""
        command = [LARGO, *self.TRAIN[:-3], "sgd", "--steps", "100000000", "--threads", "1", "--checkpoints", "states"]
        with subprocess.Popen([*MPIRUN, "-n", "3", "sh", "-c", 'echo $$ > $$.pid; exec "$@"', "sh", *command], cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            begin = time.monotonic()
            while not os.path.isdir(os.path.join(self.folder, "states")) and time.monotonic() - begin < TIME_LIMIT:
                self.assertIsNone(process.poll(), "it was over before")
                time.sleep(0.01)
            time.sleep(0.5)
            one = [int(name.split(".")[0]) for name in self.files_below("") if name.endswith(".pid")][1]
            os.kill(one, signal.SIGINT)
            out, err = process.communicate(timeout=TIME_LIMIT)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertEqual(err, "largo: stopped; run the same command again to resume from the states in 'states'\n")
        self.assertEqual(len(self.files_below("states")), 3)

    def test_doctor(self):
        code, out, err = self.mpirun(3, LARGO, "doctor", "--json")
        self.assertEqual((code, err), (0, ""))
        got = json.loads(out)
        self.assertIs(got["mpi"], True)
        self.assertEqual(got["processes"], 3)
        self.assertTrue(got["mpi_library"])

    def assert_one_line(self, result, *parts):
        code, _, err = result
        self.assertEqual(code, 2, result)
        self.assertTrue(err.startswith("largo: ") and err.count("\n") == 1, result)
        for part in parts:
            self.assertIn(part, err)

    def test_errors_are_printed_once(self):
        self.assert_one_line(self.mpirun(3, LARGO, "moments", "--s", "-1", "--L", "10"), "--s")

    def test_the_first_process_cannot_write(self):
        result = self.mpirun(3, LARGO, "moments", "--s", "1", "--L", "10", "--csv", "missing/table.csv")
        self.assert_one_line(result, "missing/table.csv")
        self.assertEqual(result[1], "")
        self.assertEqual(self.files_below(""), [])

    def test_another_process_fails(self):
        good, bad = (["moments", "--s", s, "--L", "10"] for s in ("1", "-1"))
        result = self.mpirun(2, LARGO, *good, ":", "-n", "1", LARGO, *bad)
        self.assert_one_line(result, "--s is -1")


@unittest.skipUnless(EXAMPLE, "the examples are not built")
class Example(Program):
    def test_the_same_for_any_number_of_processes(self):
        def printed(result):
            self.assertEqual((result[0], result[2]), (0, ""), result)
            lines = [line for line in result[1].splitlines() if not line.startswith(("processes", "speed"))]
            self.assertEqual(sum(bool(re.search(r"\b[0-9a-f]{16}\b", line)) for line in lines), 1, lines)
            return lines
        arguments = [EXAMPLE, "3000", "100"]
        alone = printed(self.run_command(arguments))
        self.assertEqual(printed(self.mpirun(1, *arguments)), alone)
        self.assertEqual(printed(self.mpirun(3, *arguments)), alone)
        self.assertNotEqual(printed(self.run_command([EXAMPLE, "3001", "100"])), alone)


class Session(Program):
    def test_who_was_started_by_mpi(self):
        cases = [
            ("no", {}),
            ("yes", {"OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "0"}),
            ("no", {"OMPI_COMM_WORLD_SIZE": "1", "PMIX_RANK": "0"}),
            ("yes", {"PMI_SIZE": "2", "PMI_RANK": "1"}),
            ("no", {"PMI_SIZE": "1", "PMI_RANK": "0"}),
            ("yes", {"PMIX_RANK": "1", "SLURM_STEP_NUM_TASKS": "16"}),
            ("no", {"PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "1"}),
            ("no", {"PMIX_RANK": "0"}),  # the child of a program that started MPI on its own
            ("no", {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "16"}),  # srun --mpi=none
        ]
        bare = {name: value for name, value in os.environ.items()
                if not name.startswith(("PMI", "SLURM", "MV2", "OMPI_COMM"))}
        for expected, extra in cases:
            done = subprocess.run([LEAVE, "started"], env={**bare, **extra}, capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout, expected + "\n", extra)

    def test_a_program_with_its_own_mpi(self):
        code, out, _ = self.mpirun(2, LEAVE, "own-mpi")
        self.assertEqual(code, 0)
        self.assertEqual(sorted(out.splitlines()), sorted(f"{rank} {what}" for rank in range(2) for what in
                                                          ("still has MPI", "cannot start MPI again")))

    def test_all_leave_by_an_exception(self):
        code, out, err = self.mpirun(3, LEAVE, "all-throw")
        self.assertEqual((code, sorted(out.splitlines()), err), (0, ["0 caught", "1 caught", "2 caught"], ""))

    def test_one_leaves_by_an_exception(self):
        code, out, _ = self.mpirun(3, LEAVE, "one-throws")
        self.assertNotEqual(code, 0)
        self.assertEqual(out, "")


if __name__ == "__main__":
    unittest.main()
