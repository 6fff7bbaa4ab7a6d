"""Writes docs/replication.md and its pictures from what `mercer experiment all --data SETS --output FOLDER` wrote.

Usage: python3 docs/replication/page.py FOLDER        (introduction and notes: docs/replication/notes.md)
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


def wrapped(text, width=125):
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) + 1 > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


def section(name, title, note):
    blocks = (FOLDER / f"{name}.md").read_text().strip().split("\n\n")[1:]
    tables = [block for block in blocks if block.startswith("|")]
    remarks = [block for block in blocks if not block.startswith(("|", "!"))]
    if name == "figure2":
        lines = tables[0].split("\n")
        tables = ["\n".join(lines[:2] + [line for line in lines[2:] if line.split("|")[5].strip() in SHOWN_SHARES])]
    if name == "table1":
        each = "\n".join("- " + wrapped(remark, 122).replace("\n", "\n  ") for remark in remarks[1:])
        remarks = [wrapped(remarks[0]), each]
    else:
        remarks = [wrapped(remark) for remark in remarks]
    shutil.copy(FOLDER / f"{name}.svg", HERE / f"{name}.svg")
    picture = f"![{title}](replication/{name}.svg)"
    return "\n\n".join([f"## {title} (`{name}`)", *([note] if note else []), *tables, picture, *remarks])


# notes.md: the introduction, then `## NAME` with what is to be said before that section's table.
introduction, *notes = (HERE / "notes.md").read_text().strip().split("\n## ")
said = {note.split("\n", 1)[0].strip(): note.split("\n", 1)[1].strip() for note in notes}
parts = [introduction.strip(), *(section(name, title, said.get(name)) for name, title in SECTIONS.items())]
shutil.copy(FOLDER / "small-sample.svg", HERE / "small-sample.svg")
parts.append("## Small samples (`small-sample`)\n\nTable and discussion: [small-samples.md](small-samples.md).")
(HERE.parent / "replication.md").write_text("\n\n".join(parts) + "\n")
