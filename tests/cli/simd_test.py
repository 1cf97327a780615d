"""The same bits at every SIMD level of this machine, also where levels lack the fused multiply-add of others."""

import unittest

from largo_cli import CliTest, npy

TOKENS = [[((7 * i + 3 * j) % 23 - 11) / 8 for j in range(3)] for i in range(500)]


class SimdLevels(CliTest):
    def test_the_same_bits_at_every_level(self):
        self.write("tokens.npy", npy(TOKENS))
        self.write("tokens32.npy", npy(TOKENS, "f"))
        lengths = ["--L", "2,37,1e4,1e9"]
        commands = [["moments", "--s", "0.3,1.1,2.5,7.3", "--L", "2,37,1e3,1e8,1e12"],
                    ["concentration", "--law", "gaussian:cov=toeplitz:0.5", "--d", "3", "--query", "1,0.5,-1", *lengths],
                    ["concentration", "--law", "gaussian", "--d", "3", "--query-law", "gaussian", *lengths],
                    ["concentration", "--law", "gaussian", "--d", "3", "--query-law", "sphere", *lengths],
                    ["concentration", "--law", "sphere", "--d", "3", "--query", "1,0.5,-1", *lengths],
                    ["concentration", "--law", "tokens:tokens.npy", "--query", "1,0.5,-1", *lengths],
                    ["concentration", "--law", "uniform", "--d", "2", "--query", "1,0.5", "--L", "10", "--prompts", "200"],
                    ["icl", "risk", "--d", "2", "--covariates", "rademacher", "--A", "identity", "--b", "1", "--L", "10,100",
                     "--prompts", "50"],
                    ["icl", "risk", "--d", "2", "--U", "random:1", "--V", "random:2", "--L", "10", "--nodes", "1024"],
                    ["icl", "train", "--d", "2", "--L", "10", "--method", "flow,sgd", "--steps", "20", "--batch", "8"]]
        commands += [["attention", "--law", f"tokens:{name}", "--query", "1,0.5,-1;0,1,2", "--gradients"]
                     for name in ("tokens.npy", "tokens32.npy")]
        levels = self.json("doctor")["simd_available"]
        self.assertIn("SCALAR", levels)
        for command in commands:
            expected = self.succeed(*command, "--json", simd=levels[0])
            for level in levels[1:]:
                with self.subTest(command=command, level=level):
                    self.assertEqual(self.succeed(*command, "--json", simd=level), expected)


if __name__ == "__main__":
    unittest.main()
