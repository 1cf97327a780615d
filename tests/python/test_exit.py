"""The interpreter ends while calls run on threads that it does not wait for: the process ends, quietly and soon."""

import subprocess
import sys
import textwrap

import pytest

CALLS = {
    "moments": "largo.moments(np.linspace(0.1, 20, 10**6), 1e9)",
    "a number": "largo.moments(1.0, 100.0)",
    "a law of Python": "largo.attention(Mine(3), np.ones((10**5, 3)))",
    "one tilt of it": "Mine(3).tilt(np.ones(3))",
}


@pytest.mark.parametrize("name", CALLS)
def test_exit(name):
    program = textwrap.dedent(f"""
        import threading, time
        import numpy as np, largo
        class Mine(largo.Law):
            def log_partition(self, a):
                return float(a @ a)
        def work():
            while True:
                {CALLS[name]}
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
    """)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")


def test_calls_at_exit():
    """What is registered to run at exit may still compute."""
    program = "import atexit\natexit.register(lambda: print(largo.moments([1.0], 1).P2))\nimport largo"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, "[1.]\n"), run.stderr
