"""Help by name, completions for three shells, the manual page: all from the options themselves."""

import shutil
import subprocess
import unittest

from largo_cli import CliTest

# Sources the completion and shows what it offers for the words given.
BASH = """
source "$0"
COMP_WORDS=(largo "$@"); COMP_CWORD=$#; COMPREPLY=()
_largo
printf '%s\\n' "${COMPREPLY[@]}"
"""
# The same with the words that zsh would add, in place of its completion system.
ZSH = """
compdef() { :; }
compadd() { shift; for word in "$@"; do [[ $word = $wanted* ]] && print -r -- $word; done }
_files() { [[ $wanted = -* ]] || print FILES }
wanted=${@[-1]}
source $script
words=(largo "$@"); CURRENT=${#words}
_largo
"""


class HelpByName(CliTest):
    def test_help_is_that_of_the_command(self):
        for words in ([], ["moments"], ["icl"], ["icl", "train"], ["completion"], ["help"]):
            with self.subTest(words=words):
                self.assertEqual(self.succeed("help", *words), self.succeed(*words, "--help"))
        self.assertEqual(self.json("help", "moments")["text"], self.succeed("help", "moments"))

    def test_unknown_commands(self):
        self.refuse("help", "momnets", fragment="did you mean 'moments'?")
        self.refuse("help", "icl", "trian", fragment="did you mean 'train'?")
        self.refuse("help", "moments", "more", fragment="one word too many")


class Completion(CliTest):
    def offered(self, shell, *words):
        """What is offered after `largo WORDS`, of which the last may be incomplete."""
        script = f"{self.folder}/completion"
        with open(script, "w") as file:
            file.write(self.succeed("completion", shell))
        if shell == "bash":
            command = ["bash", "-c", BASH, script, *words]
        elif shell == "zsh":
            command = ["zsh", "-f", "-c", f"script={script}\n{ZSH}", "zsh", *words]
        else:
            command = ["fish", "--no-config", "-c", f"source {script}; complete -C 'largo {' '.join(words)}'"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return [line.split("\t")[0] for line in done.stdout.splitlines() if line and line != "FILES"]

    def check(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(f"there is no {shell} on this machine")
        self.assertEqual(self.offered(shell, "mo"), ["moments"])
        self.assertEqual(sorted(self.offered(shell, "icl", "t")), ["threshold", "train"])
        self.assertEqual(sorted(self.offered(shell, "icl", "train", "--start-")), ["--start-U", "--start-V"])
        self.assertEqual(sorted(self.offered(shell, "moments", "--precision", "f")), ["float32", "float64"])
        self.assertEqual(self.offered(shell, "moments", "--s", "2", "--hea"), ["--heaviest"])
        self.assertEqual(self.offered(shell, "nosuch", "--needle"), [])
        # Every command, with its options.
        for command in ("attention", "concentration", "icl risk", "heads", "run"):
            help_text = self.succeed(*command.split(), "--help")
            for option in self.offered(shell, *command.split(), "--"):
                self.assertIn(option, help_text)

    def test_bash(self):
        self.check("bash")

    def test_zsh(self):
        self.check("zsh")

    def test_fish(self):
        self.check("fish")

    def test_bad_input(self):
        self.refuse("completion", "tcsh", fragment="tcsh")
        self.refuse("completion", fragment="shell")


class Manual(CliTest):
    def test_has_every_command_and_option(self):
        page = self.succeed("manual")
        for command in ("attention", "moments", "icl train", "reproduce", "completion"):
            self.assertIn(f".SS largo {command}\n", page)
            for option in ("json", "help"):
                self.assertIn(f"\\-\\-{option}", page)
        self.assertIn("\\-\\-needle", page)
        for line in page.splitlines():  # no text is taken for a command of roff
            if line.startswith("."):
                self.assertIn(line.split()[0], (".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".nf", ".fi"))


if __name__ == "__main__":
    unittest.main()
