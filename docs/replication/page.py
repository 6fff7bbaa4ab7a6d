"""Writes docs/replication.md and its pictures from what `mercer experiment all --data SETS --output FOLDER` wrote.

Usage: python3 docs/replication/page.py FOLDER

The tables and pictures come from FOLDER, all text from docs/replication/notes.md: the introduction, then `## NAME` with the text
before that section's tables and, below the line `<!-- after -->`, the text after them. Remarks in the experiment's own output are left
out, so the numbers in notes.md must be compared with the tables after a new run.
"""

import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(sys.argv[1])
SECTIONS = {
    "table1": "Table 1: test errors on eight sets",
    "figure1": "Figure 1: weak, not strong equivalence",
    "figure2": "Figure 2: learning curves",
    "root-search": "Root search below exponent 1",
    "error-curves": "Error curves along λ",
    "overfitting": "Overfitting",
    "lasso-geometry": "Lasso and ridge",
    "losses": "Losses",
}
# Of the nineteen sizes of a learning curve these are shown.
SHOWN_SHARES = {"0.1", "0.2", "0.3", "0.5", "0.75", "1"}
# Wide tables are shown as two: how many first columns both have, and where the second begins.
SPLIT_AT = {"table1": (1, 7), "figure1": (3, 8)}


def split(table, keys, at):
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")]
    halves = ([row[:at] for row in rows], [row[:keys] + row[at:] for row in rows])
    return ["\n".join("| " + " | ".join(row) + " |" for row in half) for half in halves]


def section(name, title, note):
    blocks = (FOLDER / f"{name}.md").read_text().strip().split("\n\n")
    tables = [block for block in blocks if block.startswith("|")]
    if name == "figure2":
        lines = tables[0].split("\n")
        tables = ["\n".join(lines[:2] + [line for line in lines[2:] if line.split("|")[5].strip() in SHOWN_SHARES])]
    if name in SPLIT_AT:
        tables = split(tables[0], *SPLIT_AT[name])
    picture = HERE / f"{name}.svg"
    if (FOLDER / picture.name).resolve() != picture.resolve():
        shutil.copy(FOLDER / picture.name, picture)
    before, _, after = note.partition("<!-- after -->")
    parts = [f"## {title} (`{name}`)", before.strip(), *tables, f"![{title}](replication/{name}.svg)", after.strip()]
    return "\n\n".join(part for part in parts if part)


introduction, *notes = (HERE / "notes.md").read_text().strip().split("\n## ")
texts = {note.split("\n", 1)[0].strip(): note.split("\n", 1)[1].strip() for note in notes}
parts = [introduction.strip(), *(section(name, title, texts.get(name, "")) for name, title in SECTIONS.items())]
if (FOLDER / "small-sample.svg").resolve() != (HERE / "small-sample.svg").resolve():
    shutil.copy(FOLDER / "small-sample.svg", HERE / "small-sample.svg")
parts.append("## Small samples (`small-sample`)\n\nTable and discussion: [small samples](small-samples.md).")
(HERE.parent / "replication.md").write_text("\n\n".join(parts) + "\n")
