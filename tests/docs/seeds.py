#!/usr/bin/env python3
"""Runs what docs/seeds.md says shows each statement: its commands, and whether its tests and scenarios are there.

  seeds.py PAGE.md HEDDLE BUILD CTEST

A row of its tables is "| statement | shown by | commands |". A command is `heddle ...`, with ": VERDICT" behind it where that is not
"ok" (fuzz) or a proof (verify), or `test: NAME`, with a dagger behind it where some configurations lack the test.
"""
import concurrent.futures
import json
import re
import shlex
import subprocess
import sys
from typing import NamedTuple

FEWEST_ROWS = 162
COMMAND = re.compile(r"`([^`]+)`(†)?(?:: ([a-z ]+))?")
NAME = re.compile(r"`([a-z]+\.[a-z0-9.-]+)`")


class Row(NamedTuple):
    line: int
    statement: str
    shown_by: str
    commands: list  # of (text, whether it may be missing, the verdict or "")


def rows_of(text):
    """The rows, and what is wrong with those that are none."""
    rows, wrong = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("| ") or line == "| statement | shown by | command |":
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) != 3 or not cells[0] or not cells[1]:
            wrong.append(f"line {number}: a row has a statement, what shows it, and commands")
            continue
        commands = [(text, bool(star), verdict) for text, star, verdict in COMMAND.findall(cells[2])]
        if "; ".join(f"`{text}`{'†' * star}{verdict and ': ' + verdict}" for text, star, verdict in commands) != cells[2].strip("-"):
            wrong.append(f"line {number}: not commands, with '; ' between them: {cells[2]}")
        if not commands:
            wrong.append(f"line {number}: nothing shows: {cells[0]}")
        if "**partial:**" in cells[1] and "GPU" not in cells[1].split("**partial:**")[1]:
            wrong.append(f"line {number}: only what no GPU has run may be partial: {cells[0]}")
        rows.append(Row(number, cells[0], cells[1], commands))
    return rows, wrong


class Tree:
    """What there is to run, and what was run already."""

    def __init__(self, heddle, build, ctest):
        self.heddle = heddle
        listed = subprocess.run([heddle, "list"], check=True, capture_output=True, text=True).stdout
        self.scenarios = set(re.findall(r"^([a-z]+\.[a-z0-9.-]+)", listed, re.M))
        self.rooms = {name.split(".")[0] for name in self.scenarios}
        self.settings = set(re.findall(r"([a-z]+\.[a-z_]+)=", listed))
        tests = subprocess.run([ctest, "--test-dir", build, "-C", "cases", "-N"], check=True, capture_output=True, text=True).stdout
        self.tests = re.findall(r"^ *Test +#\d+: (.*)$", tests, re.M)
        self.all_built = not any(name.endswith("_NOT_BUILT") for name in self.tests)

    def complaint(self, command):
        """What is wrong with a command; empty when nothing is."""
        text, may_be_missing, verdict = command
        if text.startswith("test: "):
            return "" if may_be_missing or not self.all_built or self.has(text) else "there is no such test"
        words = shlex.split(text)
        if words[0] != "heddle" or len(words) < 2 or may_be_missing:
            return "neither `heddle ...` nor `test: NAME`"
        ran = subprocess.run([self.heddle, *words[1:], *(["--json"] if words[1] == "fuzz" else [])],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        if ran.returncode != 0:
            return f"exit status {ran.returncode}: {(ran.stderr or ran.stdout).strip()[:300]}"
        if words[1] == "fuzz":
            had = json.loads(ran.stdout)["scenarios"][0]["verdict"]
            return "" if had == (verdict or "ok") else f"its verdict is {had}"
        if words[1] == "verify" and ": proved under " not in ran.stdout:
            return f"no proof: {ran.stdout[:300]}"
        return "" if verdict in ran.stdout else f"its output has no '{verdict}'"

    def has(self, test):
        """Behind a test's name stand its type, or the values that it was made with."""
        name = test[len("test: ") :]
        return any(re.match(r"$|[<\s]", known[len(name) :]) for known in self.tests if known.startswith(name))

    def unknown_names(self, text):
        return [f"there is no scenario and no setting {name}" for name in NAME.findall(text)
                if name.split(".")[0] in self.rooms and name not in self.scenarios | self.settings]

    def complaints(self, rows):
        commands = sorted({command for row in rows for command in row.commands})
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = dict(zip(commands, pool.map(self.complaint, commands)))
        return [f"line {row.line}: `{command[0]}`: {said[command]}" for row in rows for command in row.commands if said[command]]


def wrong_in(text, tree):
    rows, wrong = rows_of(text)
    return rows, wrong + tree.unknown_names(text) + tree.complaints(rows)


def self_check(tree):
    """A row is accepted, and refused with each of these changes, for that reason."""
    good = "| a statement | `port.echo`, `driver.flush` | `heddle fuzz port.echo --schedules 2`; `test: docs.files_that_are_named_exist` |"
    assert wrong_in(good, tree)[1] == [], wrong_in(good, tree)
    broken = [
        ("`port.echo`,", "`port.no-such`,", "there is no scenario and no setting port.no-such"),
        ("fuzz port.echo", "fuzz port.no-such", "exit status 2"),
        ("--schedules 2", "--schedule 2", "exit status 2"),
        ("--schedules 2`", "--schedules 2`: deadlock", "its verdict is ok"),
        ("fuzz port.echo --schedules 2", "verify zoo.crossed-calls", "no proof"),
        ("fuzz port.echo --schedules 2`", "progress own-ports`: deadlock", "its output has no 'deadlock'"),
        ("`heddle fuzz port.echo --schedules 2`", "`true`", "neither"),
        ("`heddle fuzz port.echo --schedules 2`; `test: docs.files_that_are_named_exist`", "-", "nothing shows"),
        ("; `test", " and `test", "not commands"),
        ("| a statement ", "| ", "a row has"),
    ]
    if tree.all_built:
        broken.append(("docs.files", "docs.no_such", "there is no such test"))
    for right, to, why in broken:
        wrong = wrong_in(good.replace(right, to), tree)[1]
        assert right in good and len(wrong) == 1 and why in wrong[0], f"{good.replace(right, to)}: {wrong}, not '{why}'"


def main(page, heddle, build, ctest):
    tree = Tree(heddle, build, ctest)
    self_check(tree)
    with open(page, encoding="utf-8") as text:
        rows, wrong = wrong_in(text.read(), tree)
    if len(rows) < FEWEST_ROWS:
        wrong.append(f"{len(rows)} rows, fewer than {FEWEST_ROWS}")
    for complaint in wrong:
        print(f"{page}: {complaint}")
    partial = sum("**partial:**" in row.shown_by for row in rows)
    print(f"{len(rows)} statements: {len(rows) - partial} shown, {partial} on everything but a GPU")
    lacking = [name for row in rows for name, may, _ in row.commands if may and not tree.has(name)]
    if lacking:
        print("left out, as this build has none of it:", *sorted(set(lacking)), sep="\n  ")
    if not tree.all_built:
        print("not all tests of this tree are built: their names were not compared")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
