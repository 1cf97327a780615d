"""The commands around `largo attention`: help, version, doctor."""

import os
import subprocess
import unittest

from largo_cli import BINARY, CliTest


class Help(CliTest):
    def test_help_has_an_example(self):
        for command in ([], ["assumptions"], ["attention"], ["concentration"], ["doctor"], ["completion"], ["help"], ["manual"], ["icl"], ["icl", "assumptions"], ["icl", "risk"], ["icl", "train"],
                        ["icl", "threshold"], ["moments"], ["report"], ["reproduce"], ["run"], ["status"]):
            for flag in ("--help", "-h"):
                with self.subTest(command=command, flag=flag):
                    out = self.succeed(*command, flag)
                    self.assertIn("Example", out)
                    self.assertIn("largo " + " ".join(command), out)

    def test_the_main_help_lists_every_command(self):
        out = self.succeed("--help")
        for command in ("assumptions", "attention", "concentration", "doctor", "icl", "moments", "report", "reproduce", "run", "status"):
            self.assertIn(f"\n  {command} ", out)

    def test_every_command_has_the_common_options(self):
        for command in (["assumptions"], ["attention"], ["concentration"], ["doctor"], ["icl", "assumptions"], ["icl", "risk"], ["icl", "threshold"], ["icl", "train"],
                        ["moments"], ["reproduce"], ["run"], ["status"]):
            out = self.succeed(*command, "--help")
            for option in ("--json", "--seed", "--threads", "--precision", "--help"):
                self.assertIn(option, out)

    def test_version(self):
        version = self.json("doctor")["version"]
        self.assertEqual(self.succeed("--version"), f"largo {version}\n")


class Doctor(CliTest):
    def test_json(self):
        got = self.json("doctor")
        self.assertLessEqual({"version", "simd", "simd_available", "threads", "mpi", "cuda", "python", "libraries"},
                             set(got))
        self.assertIs(got["self_check"]["passed"], True)
        self.assertIn(got["simd"], got["simd_available"])
        self.assertGreaterEqual(got["threads"], 1)
        for part in ("mpi", "cuda", "python"):
            self.assertIsInstance(got[part], bool)
        self.assertTrue(got["libraries"] and all(got["libraries"].values()))
        self.assertEqual(self.json("doctor", "--threads", "3")["threads"], 3)

    def test_table(self):
        out = self.succeed("doctor")
        self.assertIn("self-check passed", out)
        self.assertIn("SIMD", out)


class StandardOutput(CliTest):
    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            for arguments in (["doctor", "--json"], ["attention", "--law", "gaussian", "--d", "2", "--query", "1,1"]):
                completed = subprocess.run([BINARY, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
                self.assertEqual(completed.returncode, 1)
                self.assertIn(b"standard output", completed.stderr)


if __name__ == "__main__":
    unittest.main()
