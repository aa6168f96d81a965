"""The scenarios that ship, as nvcc compiles them, on the simulator.

    scenarios.py verdicts PROGRAM SCHEDULES OTHERS    each has its expected verdict, but OTHERS ("name=verdict,..."), which also have that one
    scenarios.py orders PROGRAM                       the accesses of port.echo have the orders and scopes that tests/hw/golden/port.expected
                                                      asks of nvcc's code

PROGRAM has the scenarios, compiled by way of PTX. Exit status 1: it is not so, each difference printed.
"""
import json
import re
import subprocess
import sys

# One lane makes one call: what it does that has an order, in this order. Between them stand accesses that have none.
WANTED = [
    ("locks a port", "read-modify-write acquire device", "client locks"),
    ("hands its packet over", "store release system", "packets"),
    ("polls for the answer", "load relaxed system", "packets"),
    ("acquires the answer", "load acquire system|fence acquire system", ""),
    ("unlocks the port", "read-modify-write (release|acq_rel) device", "client locks"),
]
# What must not arrive from a lane: a volatile word, a fence in the place of a release, a hand-over that is not one.
FORBIDDEN = ["volatile", "fence (release|acq_rel|seq_cst)", "(store|load|read-modify-write) seq_cst"]


def told_by(command):
    """What it tells as JSON, behind the lines that kernels print."""
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    begins = made.stdout.find('{\n  "scenario')
    if begins == -1:
        sys.exit(f"exit status {made.returncode}, and no JSON; its last words: {made.stdout[-500:]}{made.stderr[-500:]}")
    return json.loads(made.stdout[begins:])


def verdicts(program, schedules, others):
    differ = dict(each.split("=") for each in others.split(",") if each)
    # A machine with much other work may let a schedule stand for longer than the 10 seconds after which it counts as stuck.
    told = told_by([program, "fuzz", "--jobs", "1", "--schedules", schedules, "--stuck", "120", "--json"])["scenarios"]
    wrong = []
    for one in told:
        wanted = differ.pop(one["name"], None)
        found = sorted({each["verdict"] for each in one["findings"]}) or ["ok"]
        if wanted is None and not one["ok"]:
            wrong.append(f"{one['name']}: {', '.join(found)}, expected {one['expected']}")
        if wanted is not None and (one["ok"] or wanted not in found):
            wrong.append(f"{one['name']}: {', '.join(found)}; by this way it was {wanted}")
        wrong += [f"{one['name']}: {each['verdict']} is not the same in two runs" for each in one["findings"] if not each["reproducible"]]
    wrong += [f"{name}: there is no such scenario" for name in differ]
    print("\n".join(wrong) or f"{len(told)} scenarios are as they should be")
    return 1 if wrong else 0


def steps_of(program):
    settings = ["waves=1", "lanes=1", "ports=1", "calls=1"]
    command = [program, "run", "port.echo", "--json", "--trace"]
    for setting in settings:
        command += ["--set", setting]
    told = told_by(command)
    if told["verdict"] != "ok":
        sys.exit(f"port.echo is {told['verdict']}: {told['message']}")
    return told["trace"]


def of_kernel(steps):
    """Of all lanes, the one that locks a port: fills of memory are lanes too."""
    for step in steps:
        if step["actor"].startswith("wave") and re.search(WANTED[0][1], step["operation"]):
            return [each for each in steps if each["actor"] == step["actor"] and not each["event"]]
    sys.exit("no lane locks a port: " + WANTED[0][1])


def orders(program):
    steps = of_kernel(steps_of(program))
    wrong = []
    at = 0
    where = {}
    for what, operation, place in WANTED:
        found = next((n for n in range(at, len(steps)) if re.fullmatch(operation, steps[n]["operation"])
                      and (place not in where or where[place] == steps[n]["location"].split("+")[0])), None)
        if found is None:
            wrong.append(f"no step in which it {what}: {operation}")
            continue
        if place:
            where.setdefault(place, steps[found]["location"].split("+")[0])
        at = found + 1
    for step in steps:
        for never in FORBIDDEN:
            if re.search(never, step["operation"]):
                wrong.append(f"{step['operation']} at {step['where']}")
    for line in wrong:
        print(line)
    if wrong:
        for step in steps:
            print(f"  {step['operation']}  {step['location']}  {step['where']}")
        return 1
    print(f"the orders of {len(steps)} steps are as the golden files have them")
    return 0


if __name__ == "__main__":
    sys.exit({"verdicts": verdicts, "orders": orders}[sys.argv[1]](*sys.argv[2:]))
