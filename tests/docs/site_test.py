"""What the site of the documentation is made of (docs/site), without building it: formulas, and the check of links."""

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unicodedata
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "docs/site"


def load(name):
    spec = importlib.util.spec_from_file_location(name, SITE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


stage, formulas = load("stage"), load("formulas")


def spelled(element):
    """MathML as a line of text: index_of{2}, power^{2}, root(x), over/under, "words"."""
    tag = element.tag.split("}")[-1]
    parts = [spelled(child) for child in element]
    if tag in ("msub", "msup"):
        return f"{parts[0]}{'_' if tag == 'msub' else '^'}{{{parts[1]}}}"
    if tag == "msubsup":
        return f"{parts[0]}_{{{parts[1]}}}^{{{parts[2]}}}"
    if tag == "msqrt":
        return f"root({''.join(parts)})"
    if tag == "mfrac":
        return "/".join(parts)
    if tag == "mover":
        return f"{parts[1]}over({parts[0]})"
    if tag == "mtext":
        return f'"{element.text}"'
    return element.text or "".join(parts)


def read(formula):
    return spelled(ElementTree.fromstring(formulas.mathml(formula)))


class Formulas(unittest.TestCase):
    def test_the_notation(self):
        for formula, expected in [
            ("s² = ‖Γ^{1/2}Uz‖²", "s^{2}=‖Γ^{1/2}Uz‖^{2}"),
            ("E[P_2²] = ⅙ ∫_0^∞ φ_k(t) dt", "E[P_{2}^{2}]=1/6∫_{0}^{∞}φ_{k}(t)dt"),
            ("Σ_i p_i x_i", "∑_{i}p_{i}x_{i}"),
            ("tr ΣΩ", "trΣΩ"),                              # Σ is a covariance here
            ("tr(Σ⁻²)^{−1/4}", "tr(Σ^{−2})^{−1/4}"),
            ("<z', Uz> < 1", "⟨z^{′},Uz⟩<1"),               # a product, and a comparison
            ("T[μ̂_L](z)", "T[^over(μ)_{L}](z)"),
            ("√(2 ln L)", "root(2lnL)"),
            ("x ≥ 1 if the prompt is long", 'x≥1"if""the""prompt""is""long"'),
            ("a ≠ b", "a≠b"),
        ]:
            with self.subTest(formula):
                self.assertEqual(read(formula), expected)

    def test_columns_of_lines_are_aligned(self):
        table = ElementTree.fromstring(formulas.mathml("a   = 1\nb_2 = 3"))[0]
        self.assertEqual([[spelled(cell) for cell in row] for row in table], [["a", "=1"], ["b_{2}", "=3"]])

    def test_no_letter_of_a_page_is_lost(self):
        """Every displayed formula of the documentation, against its own text without the marks of the notation."""
        same = str.maketrans({"-": "−", "<": "⟨", ">": "⟩", "~": "∼", "′": "'", "∑": "Σ", "√": "", "*": "∗", "|": "|"})

        def letters(text):
            text = unicodedata.normalize("NFKD", text).replace("⁄", "/").translate(same)
            return sorted(re.sub(r"[\s_^{}()\u0302-\u0307^‾˙⟨⟩∼]|/", "", text))
        count = 0
        for page in sorted((ROOT / "docs").glob("*.md")):
            lines = page.read_text(encoding="utf-8").split("\n")
            for first, last in stage.indented_blocks(lines):
                for part in "\n".join(line[4:] for line in lines[first:last]).split("\n\n"):
                    with self.subTest(f"{page.name}:{first + 1}"):
                        tree = ElementTree.fromstring(formulas.mathml(part))
                        self.assertEqual(letters("".join(tree.itertext())), letters(part))
                        count += 1
        self.assertGreater(count, 100)


class Links(unittest.TestCase):
    def check(self, pages):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in pages.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, str(SITE / "check_links.py"), folder], capture_output=True, text=True,
                                  check=False)
        return done.returncode, done.stdout

    def test_a_good_site(self):
        code, said = self.check({"index.html": '<a href="a/b.html#here">x</a><a href="https://example.org">y</a>',
                                 "a/b.html": '<p id="here"></p><a href="../index.html">x</a>'})
        self.assertEqual((code, said), (0, "check_links: 2 pages, 3 links, 0 mistakes\n"))

    def test_mistakes_are_found(self):
        for text, fragment in [('<a href="b.html">x</a>', "b.html is not there"),
                               ('<a href="#there">x</a>', "#there leads to no place"),
                               ('<script src="https://example.org/x.js"></script>', "which is not on the site"),
                               ('<img src="picture.png">', "picture.png is not there")]:
            with self.subTest(text):
                code, said = self.check({"index.html": text})
                self.assertEqual(code, 1)
                self.assertIn(fragment, said)

    def test_style_sheets_from_elsewhere_are_found(self):
        for target in ["https://example.org/a.css", "/javascript/a.css"]:
            code, said = self.check({"index.html": "", "s.css": f"@import url({target});"})
            self.assertEqual(code, 1)
            self.assertIn(f"loads {target}", said)

    def test_far_pages_are_found(self):
        chain = {"index.html": '<a href="1.html">x</a>', "1.html": '<a href="2.html">x</a>',
                 "2.html": '<a href="3.html">x</a>', "3.html": ""}
        code, said = self.check(chain)
        self.assertEqual(code, 1)
        self.assertIn("3.html: more than 2 clicks", said)


if __name__ == "__main__":
    unittest.main()
