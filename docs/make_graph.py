"""Draw the import graph of the package, room by room, and count the lines of each wing before and after.

Example: python docs/make_graph.py
"""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from pathlib import Path

import grimp
import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "images"
BEFORE = "86e2ab4"  # the last commit without rooms

# The one import that goes up: values show themselves through it (see pyproject.toml).
DOOR = ("lab.shown", "lab.views")
WINGS = ("core", "stores", "service", "client", "integrations", "lab", "cli", "testing")
COLOURS = {"lab": "#2f6f9f", "core": "#2e7d4f"}
OTHER = "#6b5a86"
STEP, HEIGHT, WIDTH, GAP = 1.5, 0.8, 2.5, 0.5
CAPTION = (
    "An arrow says: imports. One that others imply is left out, and so are those to errors, below all.\n"
    "The thicker an arrow, the more modules import across it."
)

Edges = Counter[tuple[str, str]]


def edges() -> tuple[set[str], Edges]:
    """Return the rooms, and the number of imports from room to room."""
    graph = grimp.build_graph("frugalbandits", cache_dir=None)
    found: Edges = Counter()
    rooms = {room for module in graph.modules if (room := room_of(module))}
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            mine, theirs = room_of(module), room_of(other)
            if mine and theirs and mine != theirs and (mine, theirs) != DOOR:
                found[mine, theirs] += 1
    return rooms, found


def room_of(module: str) -> str | None:
    """Return the room of a module; what is above all rooms is in none."""
    parts = module.split(".")[1:]
    if not parts or parts[0] == "_version" or parts in (["core"], ["lab"]):
        return None
    return ".".join(parts[:2]) if parts[0] in COLOURS else parts[0]


def needed(found: Edges) -> Edges:
    """Leave out the arrows that others imply."""
    below: dict[str, set[str]] = {}
    for mine, theirs in found:
        below.setdefault(mine, set()).add(theirs)

    def reached(room: str) -> set[str]:
        direct = below.get(room, set())
        return direct.union(*map(reached, direct))

    return Counter(
        {
            (mine, theirs): number
            for (mine, theirs), number in found.items()
            if theirs != "errors" and not any(theirs in reached(way) for way in below[mine] - {theirs})
        }
    )


def places(rooms: set[str], found: Edges) -> dict[str, tuple[float, float]]:
    """Return the middle of each room: in its wing, a room stands right below the lowest that imports it."""
    where: dict[str, tuple[float, float]] = {}
    left, top = 0.0, 0.0
    for wing in COLOURS:
        level = _levels(sorted(room for room in rooms if room.startswith(f"{wing}.")), found)
        span = max(Counter(level.values()).values()) * (WIDTH + GAP) - GAP
        for height in sorted(set(level.values()), reverse=True):
            row = [room for room in level if level[room] == height]
            # Below those that import it, so that arrows cross less.
            row.sort(key=lambda room: _middle([where[a][0] for a, b in found if b == room and a in where]))
            start = left + (span - len(row) * (WIDTH + GAP) + GAP) / 2
            for i, room in enumerate(row):
                where[room] = start + WIDTH / 2 + i * (WIDTH + GAP), height * STEP
        left += span + 4 * GAP
        top = max(top, (max(level.values()) + 1) * STEP)
    # Above the wings: what stands alone, each below those that import it.
    level = _levels(sorted(room for room in rooms if "." not in room and room != "errors"), found)
    for height in set(level.values()):
        row = [room for room in level if level[room] == height]
        for i, room in enumerate(row):
            where[room] = (i + 1) * (left - 4 * GAP) / (len(row) + 1), top + STEP / 2 + height * STEP
    where["errors"] = (left - 4 * GAP) / 2, -STEP * 1.1
    return where


def _levels(rooms: list[str], found: Edges) -> dict[str, int]:
    inside = [(mine, theirs) for mine, theirs in found if mine in rooms and theirs in rooms]

    def depth(room: str) -> int:
        return max((1 + depth(theirs) for mine, theirs in inside if mine == room), default=0)

    def height(room: str) -> int:
        return min((height(mine) - 1 for mine, theirs in inside if theirs == room), default=depth(room))

    return {room: height(room) for room in rooms}


def _middle(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def draw(rooms: set[str], found: Edges) -> None:
    """Write the picture as SVG and PNG."""
    where = places(rooms, found)
    mpl.rcParams["svg.hashsalt"] = "frugalbandits"  # the same file for the same graph
    right, top = (max(place[i] for place in where.values()) for i in (0, 1))
    figure, axes = plt.subplots(figsize=(0.72 * (right + WIDTH), 0.62 * (top + 3 * STEP)))
    for wing in COLOURS:
        _frame(axes, wing, [place for room, place in where.items() if room.startswith(f"{wing}.")])
    for (mine, theirs), number in sorted(needed(found).items()):
        _arrow(axes, mine, theirs, number, where)
    for room, (x, y) in where.items():
        corner = (x - WIDTH / 2, y - HEIGHT / 2)
        shape = "round,pad=0,rounding_size=0.12"
        colour = COLOURS.get(room.partition(".")[0], OTHER)
        axes.add_patch(FancyBboxPatch(corner, WIDTH, HEIGHT, shape, fc="white", ec=colour, lw=1.6, zorder=3))
        axes.text(x, y, room.rpartition(".")[2], ha="center", va="center", fontsize=12, zorder=4)
    axes.text(right / 2, -STEP * 1.75, CAPTION, ha="center", va="top", fontsize=11, color="#444444")
    axes.set_xlim(-0.6, right + WIDTH / 2 + 0.6)
    axes.set_ylim(-STEP * 2.4, top + STEP / 2)
    axes.set_axis_off()
    TARGET.mkdir(exist_ok=True)
    figure.savefig(TARGET / "import-graph.svg", bbox_inches="tight", metadata={"Date": None})
    figure.savefig(TARGET / "import-graph.png", bbox_inches="tight", dpi=110)
    plt.close(figure)


def _frame(axes: Axes, wing: str, middles: list[tuple[float, float]]) -> None:
    xs, ys = zip(*middles, strict=True)
    left, low = min(xs) - WIDTH / 2 - 0.3, min(ys) - HEIGHT / 2 - 0.3
    width, height = max(xs) + WIDTH / 2 + 0.3 - left, max(ys) + HEIGHT / 2 + 0.8 - low
    shape = "round,pad=0,rounding_size=0.2"
    frame = FancyBboxPatch((left, low), width, height, shape, fc=COLOURS[wing], ec="none", alpha=0.08)
    axes.add_patch(frame)
    # At the right: arrows from above come in from the left.
    style = {"fontsize": 14, "weight": "bold", "color": COLOURS[wing]}
    axes.text(left + width - 0.2, low + height - 0.1, wing, ha="right", va="top", **style)


def _arrow(axes: Axes, mine: str, theirs: str, number: int, where: dict[str, tuple[float, float]]) -> None:
    (x, y), (u, v) = where[mine], where[theirs]
    # From the lower edge of a room to the upper edge of another, or from side to side between wings.
    beside = mine.partition(".")[0] != theirs.partition(".")[0] and "." in mine
    start = (x + (WIDTH / 2 if u > x else -WIDTH / 2), y) if beside else (x, y - HEIGHT / 2)
    end = (u + (-WIDTH / 2 if u > x else WIDTH / 2), v) if beside else (u, v + HEIGHT / 2)
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=13,
            shrinkA=1,
            shrinkB=1,
            lw=0.9 + 0.14 * min(number, 12),
            color=COLOURS.get(mine.partition(".")[0], OTHER),
            alpha=0.45 if beside else 0.75,
            zorder=2,
        )
    )


def lines_by_wing() -> str:
    """Return a Markdown table of the lines of src before and after, by wing."""
    after = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.glob("src/**/*.py")}
    names = _git("ls-tree", "-r", "--name-only", BEFORE, "src").splitlines()
    before = {name: _git("show", f"{BEFORE}:{name}") + "\n" for name in names if name.endswith(".py")}
    counts = [Counter[str](), Counter[str]()]
    files = [Counter[str](), Counter[str]()]
    for i, tree in enumerate((before, after)):
        for name, text in tree.items():
            wing = wing_of(name)
            counts[i][wing] += text.count("\n")
            files[i][wing] += 1
    rows = ["| wing | files before | lines before | files after | lines after |", "|---|--:|--:|--:|--:|"]
    for wing in (*WINGS, "all"):
        cells = []
        for file, count in zip(files, counts, strict=True):
            both = (file.total(), count.total()) if wing == "all" else (file[wing], count[wing])
            cells += [f"{number:,}" if number else "-" for number in both]
        rows.append(f"| {wing} | {' | '.join(cells)} |")
    return "\n".join(rows)


# Before the rooms: what sessions and policies stand on. The rest was the lab.
_CORE_BEFORE = (
    "policies/",
    "__init__",
    "_version",
    "compiled",
    "errors",
    "explain",
    "files",
    "quality",
    "session",
)


def wing_of(name: str) -> str:
    """Return the wing of a file; before the rooms, the one that its content has moved to."""
    inner = name.removeprefix("src/frugalbandits/")
    first = inner.partition("/")[0]
    if first in WINGS:
        return first
    return "core" if inner.startswith(_CORE_BEFORE) else "cli" if first == "interrupts.py" else "lab"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip(
        "\n"
    )


def main() -> None:
    """Draw, and print the table."""
    description, _, example = (__doc__ or "").strip().rpartition("\n\n")
    argparse.ArgumentParser(description=description, epilog=example).parse_args()
    draw(*edges())
    print(lines_by_wing())


if __name__ == "__main__":
    main()
