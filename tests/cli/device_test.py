"""--device cuda: the CPU's numbers where there is a GPU, and one line with a remedy where there is none."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock
import unittest.mock

from largo_cli import CliTest, npy

SGD = ["icl", "train", "--d", "3", "--L", "10,40", "--method", "sgd", "--steps", "50", "--seed", "3"]
SAMPLED = ["concentration", "--law", "rademacher", "--d", "4", "--U", "0.3*identity", "--query", "1,0,-1,0.5", "--L",
           "10,300", "--method", "sampled", "--prompts", "200"]


class DeviceTest(CliTest):
    def has_gpu(self):
        return "compute capability" in json.loads(self.succeed("doctor", "--json"))["cuda_device"]

    def has_cuda(self):
        return "not in this build" not in json.loads(self.succeed("doctor", "--json"))["cuda_device"]

    def need_gpu(self):
        if not self.has_gpu():
            self.skipTest("no GPU: " + json.loads(self.succeed("doctor", "--json"))["cuda_device"])

    def test_doctor_says_what_there_is(self):
        self.assertIn("CUDA", self.succeed("doctor"))

    def test_without_a_gpu_one_line_says_what_to_do(self):
        if self.has_gpu():
            self.skipTest("this machine has a GPU")
        for command in [SGD, SAMPLED, ["reproduce", "--quick", "--only", "published"]]:
            self.refuse(*command, "--device", "cuda", fragment="on the CPU")

    def test_an_old_driver_is_named(self):
        compiler = shutil.which("cc")
        if compiler is None or self.has_gpu() or not self.has_cuda():
            self.skipTest("needs a C compiler, CUDA in the build, and no driver")
        with tempfile.TemporaryDirectory() as folder:
            source = "int cuDriverGetVersion(int* version) { *version = 11040; return 0; }\n"
            subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", os.path.join(folder, "libcuda.so.1")],
                           input=source, text=True, check=True)
            with unittest.mock.patch.dict(os.environ, LD_LIBRARY_PATH=folder):
                self.refuse(*SGD, "--device", "cuda", fragment="the NVIDIA driver is too old, for CUDA 11.4: install")
                self.assertIn("too old, for CUDA 11.4", self.succeed("doctor"))

    def test_only_known_devices_are_taken(self):
        self.refuse(*SGD, "--device", "tpu", fragment="--device")

    def test_what_draws_no_prompts_has_no_use_for_a_gpu(self):
        self.refuse("icl", "train", "--d", "2", "--L", "10", "--device", "cuda", fragment="--method sgd")
        self.refuse("concentration", "--law", "gaussian", "--d", "2", "--query", "1,0", "--L", "10", "--device", "cuda",
                    fragment="--method sampled")
        self.refuse("attention", "--law", "gaussian", "--d", "2", "--query", "1,0", "--device", "cuda",
                    fragment="tokens:FILE")
        self.refuse("reproduce", "--only", "lemma,audit", "--device", "cuda", fragment="--only published")

    def test_training_and_sampling_have_the_bits_of_the_cpu(self):
        self.need_gpu()
        for command in [SGD, SAMPLED]:
            self.assertEqual(json.loads(self.succeed(*command, "--json")),
                             json.loads(self.succeed(*command, "--json", "--device", "cuda")))

    def test_the_report_has_the_bytes_of_the_cpu(self):
        self.need_gpu()
        with unittest.mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):  # no facts of machine or time
            self.succeed("reproduce", "--quick", "--only", "published", "--out", "cpu")
            self.succeed("reproduce", "--quick", "--only", "published", "--out", "gpu", "--device", "cuda")
        for name in ("report.json", "report.html", "run.json"):
            with open(self.path("cpu/" + name), "rb") as cpu, open(self.path("gpu/" + name), "rb") as gpu:
                self.assertEqual(cpu.read(), gpu.read())

    def test_divergence_is_told_in_the_words_of_the_cpu(self):
        self.need_gpu()
        command = ["icl", "train", "--d", "3", "--L", "10", "--method", "sgd", "--steps", "300", "--step-size", "300"]
        cpu, gpu = self.run_largo(*command), self.run_largo(*command, "--device", "cuda")
        self.assertEqual((cpu.code, cpu.err), (2, gpu.err), gpu)
        self.assertIn("diverged at step", gpu.err)

    def test_studies_have_the_bits_of_the_cpu(self):
        self.need_gpu()
        self.write("study.toml", 'title = "errors"\nquantity = "concentration"\nmethod = "sampled"\n[settings]\n'
                                 'law = "rademacher"\nd = 3\nquery = "1,0,-1"\nU = "0.3*identity"\nprompts = 300\n'
                                 '[grid]\nL = [10, 100]\n')
        cpu = json.loads(self.succeed("run", "study.toml", "--store", "cpu.sqlite", "--json"))
        gpu = json.loads(self.succeed("run", "study.toml", "--store", "gpu.sqlite", "--json", "--device", "cuda"))
        self.assertEqual(cpu["content"], gpu["content"])

    def test_attention_agrees_in_float32(self):
        self.need_gpu()
        tokens = [[((7 * i + 3 * j) % 11 - 5) / 4 for j in range(3)] for i in range(1000)]
        self.write("tokens.npy", npy(tokens, "f"))
        command = ["attention", "--law", "tokens:tokens.npy", "--query", "1,0,-1;0.5,0.5,2", "--json"]
        cpu, gpu = (json.loads(self.succeed(*command, "--device", device)) for device in ("cpu", "cuda"))
        for kind in ("softmax", "linear"):
            for row, other in zip(cpu[kind], gpu[kind]):
                for x, y in zip(row, other):
                    self.assertAlmostEqual(x, y, delta=1e-5)

    def test_attention_takes_tokens_of_many_coordinates(self):
        self.need_gpu()
        for d in (101, 160):
            tokens = [[((7 * i + 3 * j) % 11 - 5) / 16 for j in range(d)] for i in range(300)]
            self.write("tokens.npy", npy(tokens, "f"))
            command = ["attention", "--law", "tokens:tokens.npy", "--query", ",".join(["0.1"] * d), "--U", "0.1*identity",
                       "--json"]
            gpu = self.run_largo(*command, "--device", "cuda")
            if "on this GPU" in gpu.err:
                self.skipTest(gpu.err)
            self.assertEqual(gpu.code, 0, gpu)
            outputs = [json.loads(text) for text in (self.succeed(*command), gpu.out)]
            for kind in ("softmax", "linear"):
                for x, y in zip(outputs[0][kind][0], outputs[1][kind][0]):
                    self.assertAlmostEqual(x, y, delta=1e-5)

    def test_attention_says_what_it_does_not_take(self):
        self.need_gpu()
        self.write("wide.npy", npy([[0.1, 0.2], [0.3, 0.4]], "d"))
        wide = ["attention", "--law", "tokens:wide.npy", "--query", "1,0", "--device", "cuda"]
        self.refuse(*wide, fragment="must be float32 on a GPU")
        self.succeed(*wide, "--precision", "float32")
        self.write("long.npy", npy([[0.5] * 161], "f"))
        self.refuse("attention", "--law", "tokens:long.npy", "--query", ",".join(["0"] * 161), "--device", "cuda",
                    fragment="on this GPU")


if __name__ == "__main__":
    unittest.main()
