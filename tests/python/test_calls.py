"""Ctrl-C, progress, and the interpreter's lock."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import largo

LONG = {
    "concentration": "largo.concentration(largo.law('gaussian', 8), query_law=largo.law('gaussian', 8), L=[10**6], method='sampled', prompts=10**7)",
    "train": "largo.icl.train(largo.icl.Problem(5), [1000], method='sgd', steps=10**7)",
    "moments": "largo.moments(np.linspace(0.1, 20, 10**6), 1e9)",
    "sampled risk": "largo.icl.sampled_risk(largo.icl.Problem(5), 10**5, largo.rademacher(5), point=('identity', 1.0), prompts=10**6)",
    "one pass over a prompt": "largo.attention(np.broadcast_to(np.ones(16), (10**8, 16)), np.ones((64, 16)))",
    "risk of a task": "largo.icl.risk(TASK, 10**4, point=('identity', 1.0), loss='huber:1', prompts=10**7)",
    "learner": "largo.icl.learner_risk(TASK, 10**4, prompts=10**7)",
    "flow of a task": "largo.icl.train(TASK, 10**3, loss='huber:1', prompts=10**4, time=1e6)",
    "descent of a task": "largo.icl.train(TASK, 10**4, loss='huber:1', method='sgd', steps=10**7, prompts=100)",
    "threshold of a task": "largo.icl.threshold(TASK, 1e-3, loss='huber:1')",
    "a task and a loss of Python": "largo.icl.train(Slowly(2, 2), 10, loss=squared, start=(np.eye(2), np.ones(2)), prompts=10**4)",
    "a law of Python": "largo.attention(Slow(3), np.ones((200, 3)))",
}


@pytest.mark.parametrize("name", LONG)
def test_control_c(name):
    """The signal arrives half a second into the call; it ends, by KeyboardInterrupt, within a second."""
    program = textwrap.dedent(f"""
        import os, signal, sys, threading, time
        import numpy as np, largo
        class Slow(largo.Law):
            def log_partition(self, a):
                time.sleep(0.001)
                return float(np.sum(a * a))
        class Slowly(largo.icl.Task):
            def draw(self, uniforms):
                time.sleep(0.001)
                return largo.Gaussian([uniforms[0], 0.0], np.eye(2)), [1.0, 0.0], 1.0
        def squared(outputs, targets):
            return (outputs - targets) ** 2 / 2, outputs - targets
        TASK = largo.icl.Regression(5, covariates="sphere", noise=0.1)
        def interrupt():
            time.sleep(0.5)
            global sent
            sent = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            {LONG[name]}
        except KeyboardInterrupt:
            print(time.perf_counter() - sent)
    """)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout, "the call ended before the signal"
    assert float(run.stdout) < 1


def test_studies_keep_what_is_done(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text('title = "Long"\nquantity = "moments"\n[grid]\ns = "0.1:10:400"\nL = "10:1e9:400"\n')

    def stop(share):
        if share > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        largo.run_study(file, progress=stop)
    done = largo.study_status(tmp_path / "study.sqlite").done
    assert 0 < done < 160000


def test_progress():
    shares = []
    largo.concentration(largo.law("gaussian", 4), query=[1, 0, 0, 0], L=[2000], method="sampled", prompts=100000,
                        progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1 and len(shares) > 1
    assert all(threading.current_thread() is threading.main_thread() for _ in shares)


def test_progress_that_raises():
    def refuse(share):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        largo.concentration(largo.law("gaussian", 4), query=[1, 0, 0, 0], L=[10000], method="sampled", prompts=10**6, progress=refuse)


def test_bar(capsys):
    pytest.importorskip("tqdm")
    largo.concentration(largo.law("gaussian", 4), query=[1, 0, 0, 0], L=[100], method="sampled", prompts=10000, progress=True)


def test_the_lock_is_released():
    """A thread of Python counts on while a call runs: it would stand still if the lock were held."""
    count, running = 0, True

    def work():
        nonlocal count
        while running:
            count += 1
            time.sleep(0.001)

    thread = threading.Thread(target=work)
    thread.start()
    for call in (lambda: largo.moments(np.full(1000, 5.0), 1e9), lambda: [largo.moments(5.0, 1e9) for _ in range(1000)]):
        before = count
        start = time.perf_counter()
        call()
        assert count - before > 20 * (time.perf_counter() - start)
    running = False
    thread.join()


def test_handlers_of_python_run():
    """Another signal than Ctrl-C reaches its handler while the call goes on."""
    seen = []
    old = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.perf_counter()))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        largo.moments(np.full(4000, 5.0), 1e9, threads=1)
        ended = time.perf_counter()
    finally:
        signal.signal(signal.SIGALRM, old)
    assert len(seen) == 1 and seen[0] < ended


def _in_child(s):
    return largo.moments([s, 2.0], 100).mse.tolist()


def test_processes_that_fork():
    """A child has no threads of its parent: calls make new ones."""
    import multiprocessing

    expected = [_in_child(s) for s in (1.0, 1.5)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_in_child, [1.0, 1.5]).get(timeout=60) == expected
