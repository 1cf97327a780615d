"""The commands in scripts/ as a user meets them: help, one line on a mistake, and what they do on other machines.

Another machine is one where the programs in front of the search path say so: an `id` that is not root, an `unshare`
that may not mount. None of these tests installs or mounts anything.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WITH_OPTIONS = ["check_fresh", "check_web", "deb", "deps", "python", "reproduce", "site", "test", "test-gpu"]

# Stand-ins for a machine that may do everything. The last words that unshare is given are the line to run and
# its environment: the stand-in runs the line here.
ABLE = {
    "id": "echo 0",
    "debootstrap": 'echo made >> "$TMPDIR/bases"; mkdir -p "$3/etc" "$3/root"',
    "unshare": 'case "$*" in *chroot*) while [ "$1" != sh ] || [ "$2" = -c ]; do shift; done; eval "$3" ;; esac',
    "chroot": "",
}


class ScriptTest(unittest.TestCase):
    """A test with a folder of its own, whose programs stand in front of the machine's."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="largo-scripts-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(os.path.join(self.folder, "bin"))

    def program(self, name, text):
        path = os.path.join(self.folder, "bin", name)
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(path, 0o755)

    def run_script(self, name, *arguments, path=None, root=ROOT):
        if root != ROOT:
            os.makedirs(os.path.join(root, "scripts"), exist_ok=True)
            shutil.copy(os.path.join(ROOT, "scripts", name), os.path.join(root, "scripts"))
        path = path or os.path.join(self.folder, "bin") + os.pathsep + os.environ["PATH"]
        environment = {**os.environ, "PATH": path, "TMPDIR": self.folder}
        return subprocess.run(["bash", os.path.join(root, "scripts", name), *arguments], env=environment, cwd=root, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)

    def refuse(self, name, *arguments, code, fragment, **options):
        done = self.run_script(name, *arguments, **options)
        self.assertEqual(done.returncode, code, done)
        self.assertRegex(done.stderr, rf"\A{name}: [^\n]*{re.escape(fragment)}[^\n]*\n\Z")


class Scripts(ScriptTest):
    def test_help(self):
        for name in WITH_OPTIONS:
            with self.subTest(name):
                done = self.run_script(name, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(f"scripts/{name}", done.stdout)

    def test_unknown_options_are_refused_in_a_line(self):
        for name in ["check_format", *WITH_OPTIONS]:
            if name != "reproduce":  # reproduce hands its options to largo
                with self.subTest(name):
                    self.refuse(name, "--nonsense", code=2, fragment="--nonsense")

    def test_packages_add_up(self):
        def packages(*options):
            done = self.run_script("deps", "--list", *options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return done.stdout.split()
        plain, extra = packages(), {"--web": "chromium", "--dev": "debootstrap", "--bench": "python3-torch",
                                   "--site": "python3-sphinx"}
        for option, package in extra.items():
            self.assertNotIn(package, plain)
            self.assertIn(package, packages(option))
        every = packages(*extra)
        self.assertEqual(len(every), len(set(every)))
        self.assertTrue({*plain, *extra.values()} <= set(every))

    def test_a_node_from_elsewhere_is_left_alone(self):
        self.program("dpkg-query", "for package; do echo \"installed $package\"; done | grep -v -x 'installed n[a-z]*'")
        self.program("apt-get", "echo apt-get: $*")
        self.program("id", ABLE["id"])
        self.program("node", "")
        self.program("npm", "")
        self.assertRegex(self.run_script("deps", "--web").stdout, r"\Adeps: all \d+ packages are installed\n\Z")

    def test_the_page_needs_node(self):
        for tool in ["dirname", "sort", "xargs", "sha256sum", "diff"]:
            os.symlink(shutil.which(tool), os.path.join(self.folder, "bin", tool))
        here = os.path.join(self.folder, "bin")
        os.symlink(shutil.which("bash"), os.path.join(here, "bash"))
        self.refuse("check_web", "--all", path=here, code=1, fragment="run scripts/deps --web")
        self.assertIn("skipped", self.run_script("check_web", path=here).stdout)

    def test_the_page_says_why_npm_failed(self):
        """npm 9, as Debian has it, and later ones begin their lines differently."""
        copy = os.path.join(self.folder, "copy")
        shutil.copytree(os.path.join(ROOT, "web"), os.path.join(copy, "web"), ignore=shutil.ignore_patterns("node_modules"))
        self.program("node", "")
        for prefix in ["npm ERR!", "npm error"]:
            self.program("npm", f"echo '{prefix} code ENOTFOUND' >&2; exit 1")
            done = self.run_script("check_web", "--all", root=copy)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("npm ci failed: code ENOTFOUND\n", done.stderr)


class Fresh(ScriptTest):
    def setUp(self):
        super().setUp()
        if subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this is no clone")
        for name, text in ABLE.items():
            self.program(name, text)

    def left(self):
        return sorted(os.listdir(os.path.join(self.folder, "largo-fresh")))

    def test_it_says_why_it_cannot(self):
        for name, text, why in [("git", "echo fatal: dubious ownership >&2; exit 128", "dubious ownership"),
                                ("unshare", "echo unshare: Operation not permitted >&2; exit 1", "not permitted"),
                                ("id", "echo 1000", "needs root")]:
            self.program(name, text)  # the later ones are checked first
            for arguments in [["--possible"], [], ["./scripts/test"]]:
                self.refuse("check_fresh", *arguments, code=1, fragment=why)
            if name == "git":
                os.remove(os.path.join(self.folder, "bin", name))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "largo-fresh")))

    def test_the_exit_code_is_the_commands_and_nothing_stays_but_the_base(self):
        stale = os.path.join(self.folder, "largo-fresh", "run.killed")
        os.makedirs(stale, mode=0o700)
        os.utime(stale, (0, 0))
        for line, code in [("exit 7", 7), ("true", 0)]:
            done = self.run_script("check_fresh", line)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn("passed" if code == 0 else "exit code 7", done.stderr)
            self.assertEqual(self.left(), ["base", "lock", "log"])
        with open(os.path.join(self.folder, "bases"), encoding="ascii") as file:
            self.assertEqual(file.read(), "made\n")  # made once

    def test_arguments_stay_what_they_are(self):
        done = self.run_script("check_fresh", "printf", "<%s>", "a b", "$x", "--keep")
        self.assertEqual((done.returncode, done.stdout), (0, "<a b><$x><--keep>"), done.stderr)

    def test_a_kept_system_has_the_last_commit(self):
        def git(place, *arguments):
            return subprocess.run(["git", "-C", place, *arguments], check=True, capture_output=True, text=True).stdout
        kept = os.path.join(self.folder, "largo-fresh", "kept", "project")
        for _ in range(2):
            self.assertEqual(self.run_script("check_fresh", "--keep", "true").returncode, 0)
            self.assertEqual(git(kept, "rev-parse", "HEAD"), git(ROOT, "rev-parse", "HEAD"))
            self.assertEqual(git(kept, "status", "--porcelain"), "")
            with open(os.path.join(kept, "README.md"), "w", encoding="ascii") as file:
                file.write("changed")

    def test_a_system_that_cannot_be_made_is_not_taken_for_one(self):
        self.program("chroot", "echo no network >&2; exit 100")
        for _ in range(2):
            done = self.run_script("check_fresh", "true")
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("no network\ncheck_fresh: the bare system could not be made\n", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
