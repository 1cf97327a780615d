"""The formulas of the documentation as MathML.

In docs/*.md a displayed formula is an indented block in the notation that mathematicians use in plain text:

    E[P_2] = 1/Γ(2) ∫_0^∞ t L φ_2 φ_0^{L−1} dt,      s² = ‖Γ^{1/2}Uz‖²

so that it can be read in a terminal and in an editor. `mathml` typesets such a block: indices and powers, roots,
sums, integrals, brackets and accents. Fractions stay on the line, as they are written. Runs of two or more spaces
are kept as gaps, and columns that several lines share are aligned.

The loops below know the notation by a few rules. A run of four or more letters is a word, and so are the short words
of SHORT_WORDS; other runs are products of variables, but for the names of FUNCTIONS. Σ is a sum where something
that can be summed follows after a space, and a matrix elsewhere.
"""

import html
import re
import unicodedata
from typing import Dict, List, Optional, Tuple

FUNCTIONS = {"ln", "log", "exp", "tr", "cov", "max", "min", "sup", "cos", "sin", "cosh", "tanh", "Cov", "Var", "Ein"}
SHORT_WORDS = {"a", "all", "an", "and", "any", "at", "but", "by", "for", "from", "if", "in", "is", "law", "may", "no", "not",
               "of", "on", "one", "or", "sum", "than", "the", "two", "up"}
# Short words that are also variables: words only where another word is beside them.
VARIABLES = {"a"}
SUPERSCRIPTS = {**dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+−n")), "ᵀ": "T"}
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖ", "0123456789+−ijk"))
FRACTIONS = {"½": "1/2", "⅓": "1/3", "¼": "1/4", "⅙": "1/6", "⅛": "1/8", "¾": "3/4"}
ACCENTS = {"\u0302": "^", "\u0304": "‾", "\u0303": "~", "\u0307": "˙"}
OPENING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩"}
RELATIONS = set("=≤≥≈∝∈→←<>~≠")
OPERATORS = set("+−-·×/±∂∇,;:.…!|‖#∞*%") | RELATIONS


class Reader:
    """Reads one stretch of a formula, left to right, and writes MathML."""

    def __init__(self, text: str) -> None:
        self.text = unicodedata.normalize("NFD", text)
        # Signs of comparison that NFD takes apart.
        self.text = self.text.replace("=\u0338", "≠")
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead:self.at + ahead + 1]

    def row(self, until: str = "") -> str:
        parts: List[str] = []
        while self.at < len(self.text) and self.peek() != until:
            parts.append(self.atom())
        return "".join(parts)

    def atom(self) -> str:
        """One thing with its indices and powers; or a gap, or an operator."""
        start = self.at
        if self.peek() == " ":
            while self.peek() == " ":
                self.at += 1
            wide = self.at - start
            return f'<mspace width="{min(0.4 * wide, 2.4):.1f}em"></mspace>' if wide > 1 else self.word_gap(start)
        return self.scripts(self.base())

    def word_gap(self, start: int) -> str:
        # A single space is only seen beside words; elsewhere the spacing is that of the operators.
        before = re.search(r"([^\W\d_]+)[,;:.)]*$", self.text[:start])
        after = re.match(r"[(]?([^\W\d_]+)", self.text[self.at:])
        seen = (before and is_word(before[1], self.text, before.start(1))) or \
            (after and is_word(after[1], self.text, self.at + after.start(1)))
        thin = '<mspace width="0.17em"></mspace>'
        return '<mspace width="0.3em"></mspace>' if seen else thin

    def base(self) -> str:
        here = self.peek()
        letters = re.match(r"[A-Za-z]+", self.text[self.at:])
        number = re.match(r"\d+(?:\.\d+)?", self.text[self.at:])
        if letters:
            return self.letters(letters[0])
        self.at += 1
        if number:
            self.at += len(number[0]) - 1
            return f"<mn>{number[0]}</mn>"
        if here in FRACTIONS:
            over, under = FRACTIONS[here].split("/")
            return f"<mfrac><mn>{over}</mn><mn>{under}</mn></mfrac>"
        if here == "√":
            return f"<msqrt>{self.argument_of_root()}</msqrt>"
        if here == "Σ" and self.is_sum():
            return '<mo largeop="true" movablelimits="false">∑</mo>'
        if here in "∏∫":
            return f'<mo largeop="true" movablelimits="false">{here}</mo>'
        if here == "<" and self.opens_angle():
            return self.group("⟨", ">")
        if here in OPENING:
            return self.group(here, OPENING[here])
        if here in "‖|":
            return self.norm(here)
        if here == "/":
            return '<mo lspace="0.05em" rspace="0.05em">/</mo>'
        if here in OPERATORS or not here.isalpha():
            return f"<mo>{html.escape({'-': '−', '~': '∼'}.get(here, here))}</mo>"
        return self.accented(here)

    def letters(self, run: str) -> str:
        if is_word(run, self.text, self.at):
            name = re.match(r"[a-z]+(?:_[a-z]{3,})*", self.text[self.at:])  # scores_below is one name
            run = name[0] if name else run
            self.at += len(run)
            return f"<mtext>{run}</mtext>"
        if run in FUNCTIONS:
            self.at += len(run)
            return f"<mi>{run}</mi>"
        for name in sorted(FUNCTIONS, key=len, reverse=True):
            # "tr" in "tr ΣΩ", but not in "str"; "ln" before an index too.
            if run.startswith(name) and len(run) > len(name) and name in {"tr", "ln"} and run[len(name)].isupper():
                self.at += len(name)
                return f"<mi>{name}</mi>"
        self.at += 1
        digits = re.match(r"\d+", self.text[self.at:])
        if digits and len(run) == 1:  # p3 is p with an index
            self.at += len(digits[0])
            return f"<msub>{self.accented(run[0])}<mn>{digits[0]}</mn></msub>"
        return self.accented(run[0])

    def accented(self, letter: str) -> str:
        out = f"<mi>{letter}</mi>"
        while self.peek() in ACCENTS and self.peek():
            mark = ACCENTS[self.peek()]
            self.at += 1
            out = f'<mover accent="true">{out}<mo stretchy="false">{mark}</mo></mover>'
        return out

    def argument_of_root(self) -> str:
        if self.peek() == "(":
            self.at += 1
            inner = self.row(")")
            self.at += 1
            return inner
        return self.scripts(self.base())

    def is_sum(self) -> bool:
        rest = self.text[self.at:]
        index = re.match(r"_(\{[^}]*\}|\w+)(∈\w)?", rest)
        if index:
            if index[1] == "q":  # Σ_q is the covariance of the queries
                return False
            rest = rest[index.end():]
        after = re.match(r" ([^\s])", rest)
        summed = bool(after) and after[1] not in RELATIONS | set("+−·×,;") and not rest.startswith("  ")
        return summed or bool(re.match(r"p_i", rest))

    def opens_angle(self) -> bool:
        """A sign of comparison has spaces on both sides; a scalar product has none inside its brackets."""
        return self.peek() not in ("", " ") and bool(re.search(r"[^ ]>", self.text[self.at:]))

    def group(self, opening: str, closing: str) -> str:
        end = self.matching("<" if opening == "⟨" and closing == ">" else opening, closing)
        if end is None:  # one bracket of an interval, or a matrix over two lines
            return f'<mo stretchy="false">{opening}</mo>'
        inner = Reader.inside(self.text[self.at:end])
        self.at = end + 1
        shown = "⟩" if opening == "⟨" else closing
        return f'<mrow><mo stretchy="false">{opening}</mo>{inner}<mo stretchy="false">{shown}</mo></mrow>'

    def norm(self, bar: str) -> str:
        """‖…‖ and |…|: up to the next bar that is not the beginning of an inner one."""
        depth, at = 0, self.at
        while at < len(self.text):
            here = self.text[at]
            if here in "([{":
                depth += 1
            elif here in ")]}":
                depth -= 1
            elif here == bar and depth == 0 and at > self.at:
                inner = Reader.inside(self.text[self.at:at])
                self.at = at + 1
                return f'<mrow><mo form="prefix" stretchy="false">{bar}</mo>{inner}<mo form="postfix" stretchy="false">{bar}</mo></mrow>'
            if depth < 0:
                break
            at += 1
        return f'<mo stretchy="false">{bar}</mo>'

    def matching(self, opening: str, closing: str) -> Optional[int]:
        depth = 1
        for at in range(self.at, len(self.text)):
            here = self.text[at]
            if here == closing:
                depth -= 1
                if depth == 0:
                    return at
            elif here == opening:
                depth += 1
        return None

    @staticmethod
    def inside(text: str) -> str:
        return Reader(text).row()

    def scripts(self, base: str) -> str:
        """What hangs on a base: any of _x, ^x, ², ₂, ′, *, in any order."""
        below: List[str] = []
        above: List[str] = []
        while self.at < len(self.text):
            here = self.peek()
            if here == "_" and not below:
                self.at += 1
                below.append(self.script())
            elif here == "^":
                self.at += 1
                above.append(self.script())
            elif here in SUPERSCRIPTS:
                above.append(self.small(SUPERSCRIPTS))
            elif here in SUBSCRIPTS:
                below.append(self.small(SUBSCRIPTS))
            elif here == "'":
                primes = re.match(r"'+", self.text[self.at:])
                assert primes
                self.at += len(primes[0])
                above.append(f"<mo>{'′' * len(primes[0])}</mo>")
            elif here == "*" and (self.peek(1) in ("", "⟩", ">", ")", "|", ",", "_", "^")):
                self.at += 1
                above.append("<mo>∗</mo>")
            else:
                break
        under = "".join(below)
        over = "".join(above)
        if under and over:
            return f"<msubsup>{base}<mrow>{under}</mrow><mrow>{over}</mrow></msubsup>"
        if under:
            return f"<msub>{base}<mrow>{under}</mrow></msub>"
        if over:
            return f"<msup>{base}<mrow>{over}</mrow></msup>"
        return base

    def small(self, table: Dict[str, str]) -> str:
        out = ""
        while self.peek() and self.peek() in table:
            sign = table[self.peek()]
            out += f"<mn>{sign}</mn>" if sign.isdigit() else f"<mi>{sign}</mi>" if sign.isalpha() else f"<mo>{sign}</mo>"
            self.at += 1
        return out

    def script(self) -> str:
        if self.peek() == "{":
            end = self.matching_brace()
            inner = Reader.inside(self.text[self.at + 1:end])
            self.at = end + 1
            return inner
        if self.peek() == "<":
            self.at += 1
            return self.group("⟨", ">")
        run = re.match(r"lin|\d+(?:[a-z](?!_))*|[a-z]+|[A-Z]", self.text[self.at:])
        if run:
            self.at += len(run[0])
            inner = f"<mtext>{run[0]}</mtext>" if run[0] == "lin" else Reader.letters_alone(run[0])
            member = re.match(r"∈(\w)", self.text[self.at:])
            if member:
                self.at += len(member[0])
                inner += f"<mo>∈</mo><mi>{member[1]}</mi>"
            return inner
        return self.base()

    def matching_brace(self) -> int:
        depth = 0
        for at in range(self.at, len(self.text)):
            depth += {"{": 1, "}": -1}.get(self.text[at], 0)
            if depth == 0:
                return at
        raise ValueError(f"a brace is not closed in: {self.text}")

    @staticmethod
    def letters_alone(run: str) -> str:
        return "".join(f"<mn>{x}</mn>" if x.isdigit() else f"<mi>{x}</mi>" for x in re.findall(r"\d+|\w", run))


def is_word(run: str, text: str, at: int) -> bool:
    if run in FUNCTIONS or not run.isascii():
        return False
    before, after = text[:at], text[at + len(run):]
    if before.endswith(("_", "^")) or re.search(r"[^\s(,\"]$", before) and not re.search(r"[-.:{/]$", before):
        return False  # glued to a formula
    if len(run) >= 4 and run.lower() == run or len(run) >= 4 and run[1:].islower():
        return True
    if run in VARIABLES:
        return bool(re.match(r" [a-z]{3,}", after)) and not re.search(r"[=+−]\s*$", before)
    return run in SHORT_WORDS


def columns(lines: List[str]) -> List[int]:
    """Where a line is cut: the beginnings of cells, after two or more spaces, that two lines have in common."""
    starts: Dict[int, int] = {}
    for line in lines:
        ends = {gap.end() for gap in re.finditer(r"(?<=\S) {2,}(?=\S)", line)}
        first_equals = re.match(r"[^=]*\S (?== )", line)
        if first_equals and "  " not in first_equals[0]:
            ends.add(first_equals.end())
        for end in ends:
            starts[end] = starts.get(end, 0) + 1
        indent = len(line) - len(line.lstrip())
        if indent:
            starts[indent] = starts.get(indent, 0) + 1
    return sorted(start for start, count in starts.items() if count > 1 and start > 0)


def cut(line: str, starts: List[int]) -> List[Tuple[int, str]]:
    """The cells of a line with the number of their column. A cut in the middle of something is none."""
    places = [0] + [s for s in starts if s < len(line) and line[:s].endswith(" ") and line[s] != " "]
    ends = places[1:] + [len(line)]
    order = [0] + starts
    cells = []
    for place, end in zip(places, ends):
        text = line[place:end]
        cells.append((order.index(place), text.rstrip()))
    return cells


def mathml(block: str, inline: bool = False) -> str:
    """The block of lines as one <math> element, or a piece of a sentence."""
    if inline:
        return f"<math>{Reader(block).row()}</math>"
    lines = [line.rstrip() for line in block.strip("\n").split("\n")]
    starts = columns(lines) if len(lines) > 1 else []
    rows = []
    for line in lines:
        cells = {}
        for column, text in cut(line, starts):
            indent = len(text) - len(text.lstrip())
            lead = f'<mspace width="{0.5 * indent:.1f}em"></mspace>' if indent and text.strip() else ""
            cells[column] = lead + Reader(text.strip()).row()
        rows.append(cells)
    if len(rows) == 1:
        body = "".join(rows[0].values())
    else:
        width = len(starts) + 1
        body = "<mtable columnalign=\"left\">" + "".join(
            "<mtr>" + "".join(f"<mtd>{row.get(i, '')}</mtd>" for i in range(width)) + "</mtr>" for row in rows) + "</mtable>"
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{body}</math>'
