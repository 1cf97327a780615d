"""Ctrl-C: commands end in order at the first one, and at once at the second. Training: icl_train_test.py."""

import fcntl
import os
import signal
import struct
import subprocess
import termios
import time
import unittest

from largo_cli import BINARY, TIME_LIMIT, CliTest

SAMPLED = ("concentration", "--law", "gaussian", "--d", "3", "--query", "1,0,0", "--method", "sampled", "--L", "1e6",
           "--prompts", "100000000", "--csv", "rows.csv", "--plot", "figure.svg")


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii", errors="replace") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def bytes_waiting(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


class Signals(CliTest):
    def start(self, *arguments, ignored=()):
        def dispositions():
            for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(one, signal.SIG_IGN if one in ignored else signal.SIG_DFL)

        process = subprocess.Popen([BINARY, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=dispositions)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_until(self, process, condition):
        end = time.monotonic() + TIME_LIMIT
        while not condition():
            self.assertIsNone(process.poll(), "it was over before")
            self.assertLess(time.monotonic(), end, "it does not begin")
            time.sleep(0.01)

    def stop(self, process, by):
        process.send_signal(by)
        asked = time.monotonic()
        out, err = process.communicate(timeout=TIME_LIMIT)
        self.assertLess(time.monotonic() - asked, 5)  # hundredths of a second on a machine that is not busy
        self.assertEqual((process.returncode, out, err), (130, b"", b"largo: stopped; nothing was written\n"))

    def test_each_signal_ends_the_work_in_order(self):
        for by in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start(*SAMPLED)
            self.wait_until(process, lambda: processor_seconds(process) > 0.3)
            self.stop(process, by)
            self.assertEqual(os.listdir(self.folder), [])

    def test_commands(self):
        """Each at work for hours otherwise, or minutes."""
        for arguments in (["moments", "--s", "0:10:1000", "--L", "10:1e12:1000", "--csv", "out.csv"],
                          ["icl", "risk", "--d", "30", "--U", "random:1", "--V", "random:2", "--L", "1e1:1e12:40"],
                          ["icl", "threshold", "--d", "100", "--epsilon", "0.01"],
                          ["concentration", "--law", "gaussian", "--d", "200", "--query-law", "gaussian", "--L", "100"],
                          ["concentration", "--law", "gaussian:cov=toeplitz:0.5", "--d", "150", "--query-law", "sphere", "--L", "100"],
                          ["icl", "train", "--d", "3", "--L", "10000000", "--method", "sgd", "--batch", "100000"]):
            with self.subTest(arguments=arguments):
                process = self.start(*arguments)
                self.wait_until(process, lambda: processor_seconds(process) > 0.5)
                self.stop(process, signal.SIGINT)
                self.assertEqual(os.listdir(self.folder), [])

    def test_what_is_ignored_stays_so(self):
        """As under nohup."""
        process = self.start(*SAMPLED, ignored=[signal.SIGHUP])
        self.wait_until(process, lambda: processor_seconds(process) > 0.3)
        process.send_signal(signal.SIGHUP)
        used = processor_seconds(process)
        self.wait_until(process, lambda: processor_seconds(process) > used + 0.3)
        self.stop(process, signal.SIGINT)

    def test_the_second_one_ends_it_at_once(self):
        """In a moment at which the first one changes nothing: nobody reads what is printed."""
        process = self.start("moments", "--s", "0:1:500", "--L", "10", "--json")
        room = fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ)
        self.wait_until(process, lambda: bytes_waiting(process.stdout) == room)
        process.send_signal(signal.SIGINT)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=TIME_LIMIT), -signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
