#!/usr/bin/env python3
"""`heddle replay --gdb` under gdb: the session that the page prints, and each lane's stack against the one that the report prints.

  debugger.py BUILD PAGE.md exact|masked

Of a block "```gdb" the lines "$ COMMAND" and "(gdb) COMMAND" are typed, and what follows each must come out: "..." stands for lines, or for
anything in a line. Of the numbers only "exact" compares those that depend on the compiler. Exit status 77 where there is no gdb.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SCENARIO = "zoo.crossed-calls"
TRACE = "findings/%s-deadlock-1.heddle.json" % SCENARIO


def plain(line, numbers):
    line = re.sub(r"0x[0-9a-f]{7,}|\b[0-9a-f]{16}\b", "#", line)
    if numbers == "masked":
        line = re.sub(r"0x[0-9a-f]+|[0-9][0-9,]*", "#", line)
    return " ".join(line.split())


def fits(line, pattern):
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("...")), line) is not None


def first_missing(wanted, lines, numbers):
    """The first line of the page that does not come out, in order; None where all do."""
    lines = iter([plain(line, numbers) for line in lines])
    for pattern in wanted:
        if pattern.strip() in ("", "..."):
            continue
        if not any(fits(line, plain(pattern, numbers)) for line in lines):
            return pattern
    return None


def session_of(page):
    """Of the page's first block: the commands in front of which "$" or "(gdb)" stands, each with the lines behind it."""
    block = re.search(r"^```gdb\n(.*?)^```$", open(page).read(), re.M | re.S).group(1)
    commands = []
    for line in block.splitlines():
        typed = re.match(r"(?:\$|\(gdb\)) (.*)", line)
        if typed:
            commands.append((typed.group(1), []))
        else:
            commands[-1][1].append(line)
    return commands


def run(command, typed, folder):
    made = subprocess.run(
        ["bash", "-c", command], input="".join(line + "\n" for line in typed), cwd=folder, timeout=240,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    # gdb, which reads no terminal, does not repeat what it is told.
    return made.stdout.split("(gdb) ")


def check_session(page, folder, numbers):
    commands = session_of(page)
    outputs = run(commands[0][0], [typed for typed, _ in commands[1:]], folder)
    wrong = []
    for (typed, wanted), output in zip(commands, outputs + [""] * len(commands)):
        missing = first_missing(wanted, output.splitlines(), numbers)
        if missing is not None:
            wrong.append("%s: %s\n  has no line: %s\n%s" % (page, typed, missing, output))
    return wrong


def stacks_in(report):
    """By lane as gdb's command names it: the places of its code under test, innermost first."""
    stacks = {}
    for head, body in re.findall(r"^ *((?:wave|host) .*?): waits.*\n((?: +(?:at|from) .*\n)+)", report, re.M):
        wave = re.match(r"wave (\d+), block \d+, lane (\d+)$", head)
        name = "%s.%s" % wave.groups() if wave else head[len("host ") :]
        places = re.findall(r"(?:at|from) +(\S+:\d+)", body)
        stacks[name] = [each for each in places if not each.startswith(("tools/", "sim/"))]
    return stacks


def check_stacks(heddle, folder):
    """At the end of a hang every lane waits where the report says."""
    shown = subprocess.run([heddle, "replay", TRACE, "--json"], cwd=folder, stdout=subprocess.PIPE, text=True)
    stacks = stacks_in(json.loads(shown.stdout)["report"])
    if len(stacks) != 4 or not all(stacks.values()):
        return ["the report has other stacks than those of four lanes: %s" % stacks]
    outputs = run("%s replay --gdb %s" % (heddle, TRACE), ["heddle lane " + each for each in stacks], folder)
    wrong = []
    for (name, places), output in zip(stacks.items(), outputs[1:]):
        found = re.findall(r"^#\d+ +(\S+:\d+)", output, re.M)
        if found[: len(places)] != places:
            wrong.append("lane %s: gdb says %s, the report %s\n%s" % (name, found, places, output))
    return wrong


def check_stops(heddle, folder):
    """A line stops each step that it takes, and no other; what is no place, and a run without a debugger, is an error."""
    wrong = []
    steps = json.loads(
        subprocess.run([heddle, "replay", TRACE, "--json", "--trace"], cwd=folder, stdout=subprocess.PIPE, text=True).stdout
    )["trace"]
    place = "rpc/mailbox.h:37"
    expected = [each["step"] for each in steps if each["where"] == place and not each["event"]]
    output = "".join(run("%s replay --gdb %s --break mailbox.h:37" % (heddle, TRACE), ["continue"] * (len(expected) + 1), folder))
    stopped = [int(step) for step in re.findall(r"^stopped: .*, step (\d+), ", output, re.M)]
    if not expected or stopped != expected or "exited" not in output:
        wrong.append("stopped in steps %s, not in %s\n%s" % (stopped, expected, output))
    for option, message in (
        ("--break 7", "--break is for a debugger, and none is attached"),
        ("--break mailbox.h:1", "there is no code of mailbox.h:1 in this program"),
        ("--break 0", '"0" is no step, no FILE:LINE and not "end"'),
        ("--break :3", '":3" is no FILE:LINE'),
        ("--gdb --break x", '"x" is no step'),
        ("--gdb " + TRACE, "take one trace at a time"),
    ):
        output = run("%s replay %s %s; echo status $?" % (heddle, TRACE, option), [], folder)[0]
        if message not in output or "status 2" not in output:
            wrong.append("%s says\n%s" % (option, output))
    return wrong


def main(build, page, numbers):
    if shutil.which("gdb") is None:
        print("there is no gdb")
        return 77
    heddle = os.path.join(build, "heddle")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(build, os.path.join(folder, "build"))
        subprocess.run(
            [heddle, "fuzz", SCENARIO, "--schedules", "10", "--out", "findings"], cwd=folder, stdout=subprocess.DEVNULL, check=True
        )
        wrong = check_session(page, folder, numbers) + check_stacks(heddle, folder) + check_stops(heddle, folder)
    print("\n".join(wrong) if wrong else "ok")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
