#!/usr/bin/env python3
"""Writes the figures of today into the pages: what console.sh compares, mended.

  refresh.py BUILD PAGE.md...

Runs the commands of each block "```console" as console.sh does. A line of a page that differs from the program's output in its
numbers alone gets the program's. What differs in words is listed, and left: words are for a writer. Exit status 1 then.
"""
import os
import re
import subprocess
import sys
import tempfile

NUMBER = r"[0-9][0-9,]*(?:\.[0-9]+)?"
DIGEST = r"\b[0-9a-f]{16}\b"
# What may differ between a line of a page and the program's; NUMBER has a group that does not count.
WORD = r"\.\.\.|0x[0-9a-f]+|heddle[12]\.[A-Za-z0-9_-]*|" + DIGEST + "|" + NUMBER
UNCERTAIN = [
    (re.compile(r"heddle[12]\.[A-Za-z0-9_-]*"), "heddle1."),
    (re.compile(r"\b[0-9a-f]{16}\b"), "#"),
    (re.compile(r"0x[0-9a-f]{7,}"), "#"),
    (re.compile(NUMBER + r" (s|ms|us|ns)\b"), r"# \1"),
    (re.compile(r"[0-9][0-9,]*/s\b"), "#/s"),
]


def blanks(text):
    return re.sub(" +", " ", text.strip("\n")).strip()


def exactly(text):
    for pattern, to in UNCERTAIN:
        text = pattern.sub(to, text)
    return blanks(text)


def as_pattern(line, numbers_too):
    """A pattern for a line of a page, "..." in which stands for anything; the numbers are its groups."""
    text = exactly(line) if not numbers_too else blanks(line)
    pattern = ""
    at = 0
    for found in re.finditer(WORD, text):
        pattern += re.escape(text[at : found.start()])
        word = found.group()
        if word == "...":
            pattern += "(.*)"
        elif re.fullmatch(DIGEST, word):
            pattern += "([0-9a-f]{16})"
        elif word.startswith("heddle1."):
            pattern += r"(heddle[12]\.[A-Za-z0-9_-]*)"
        elif not numbers_too:
            pattern += "(" + re.escape(word) + ")"
        else:
            pattern += r"(0x[0-9a-f]+)" if word.startswith("0x") else "(" + NUMBER + ")"
        at = found.end()
    return re.compile(pattern + re.escape(text[at:]) + "$")


def with_numbers_of(line, output):
    """The line of the page with the numbers of the output; "..." stays. Its blanks are the output's where it has no "..."."""
    if "..." not in line:
        return output.rstrip("\n")
    values = list(as_pattern(line, True).match(blanks(output)).groups())
    parts = re.split("(" + WORD + ")", line)
    for index in range(1, len(parts), 2):
        value = values.pop(0)
        if parts[index] != "..." and not parts[index].startswith("heddle1."):
            parts[index] = value
    return "".join(parts)


class Page:
    def __init__(self, path, build):
        self.path = path
        self.lines = open(path).read().split("\n")
        self.left = 0
        self.folder = tempfile.TemporaryDirectory()
        for name, target in (("checkout", build), ("mine", os.path.join(build, "tests/docs/mine"))):
            os.mkdir(os.path.join(self.folder.name, name))
            os.symlink(target, os.path.join(self.folder.name, name, "build"))
        run = os.path.join(self.folder.name, "checkout", "run")
        with open(run, "w") as out:
            out.write("#!/bin/sh\nexec build/heddle \"$@\"\n")
        os.chmod(run, 0o755)

    def refresh(self):
        before = list(self.lines)
        where, command, expected = None, None, []
        for index, line in enumerate(self.lines):
            if where is None:
                if line in ("```console", "```console mine"):
                    where = "mine" if line.endswith("mine") else "checkout"
                elif line.startswith("```"):
                    where = "other"
            elif line == "```":
                self.compare(where, command, expected)
                where, command, expected = None, None, []
            elif where != "other":
                if command is not None and command.endswith("\\"):
                    command += "\n" + line
                elif line.startswith("$ "):
                    self.compare(where, command, expected)
                    command, expected = line[2:], []
                else:
                    expected.append(index)
        if self.lines != before:
            with open(self.path, "w") as out:
                out.write("\n".join(self.lines))
        return self.left

    def compare(self, where, command, expected):
        if command is None:
            return
        ran = subprocess.run(["bash", "-c", command], cwd=os.path.join(self.folder.name, where), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        output = ran.stdout.decode(errors="replace").split("\n")
        at = 0
        for index in expected:
            line = self.lines[index]
            if blanks(line) in ("", "..."):
                continue
            same = as_pattern(line, False)
            near = as_pattern(line, True)
            found = next((n for n in range(at, len(output)) if same.match(exactly(output[n]))), None)
            close = next((n for n in range(at, len(output)) if near.match(blanks(output[n]))), None)
            if found is not None and (close is None or found <= close):
                at = found + 1
            elif close is not None:
                self.lines[index] = with_numbers_of(line, output[close])
                at = close + 1
            else:
                print(f"{self.path}:{index + 1}: not in the output: {line}\n  of: {command}")
                for shown in output[at : at + 8]:
                    print("    " + shown[:160])
                self.left += 1


def main():
    build = os.path.abspath(sys.argv[1])
    left = sum(Page(path, build).refresh() for path in sys.argv[2:])
    sys.exit(1 if left else 0)


main()
