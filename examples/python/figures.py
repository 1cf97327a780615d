"""What the examples share: their options, and where their figures go."""

from __future__ import annotations

import argparse
import pathlib
from typing import Any, NamedTuple, Optional

import largo.plot


class Figures(NamedTuple):
    """--quick, --out and --format of the command line."""

    quick: bool
    out: pathlib.Path
    form: str

    def save(self, ax: Any, name: str) -> None:
        """Writes OUT/NAME.FORMAT."""
        largo.plot.save(ax, self.out / f"{name}.{self.form}")


def read_command_line(description: Optional[str]) -> Figures:
    """Makes the folder, too."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer samples and points")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="folder of the figures (here)")
    parser.add_argument("--format", choices=["pdf", "svg", "png"], default="pdf", help="of the figures (pdf)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    return Figures(options.quick, options.out, options.format)
