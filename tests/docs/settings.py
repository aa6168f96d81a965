#!/usr/bin/env python3
"""The tables of docs/settings.md must be what `heddle list --json` says; where they are not, what they should be is printed.

  settings.py HEDDLE DOCS
"""
import json
import subprocess
import sys

KEYS = ["waves", "lanes", "ports", "slots", "servers", "calls"]


def row_of(parameter):
    kind = parameter["type"]
    if kind == "number":
        values = f"{parameter['min']} to {parameter['max']}"
    elif kind == "words":
        values = "a line"
    else:
        values = ", ".join(f"`{choice}`" for choice in parameter["choices"])
    default = f"`{parameter['default']}`" if parameter["default"] != "" else "-"
    return f"| `{parameter['key']}` | {values} | {default} | {parameter['unit'] or '-'} | {parameter['help']} |\n"


def main():
    heddle, docs = sys.argv[1:]
    listed = json.loads(subprocess.run([heddle, "list", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    with open(f"{docs}/settings.md") as file:
        page = file.read()
    # The machine's own settings come first in every scenario; port.echo changes none of them.
    machine = "| key | values | default | unit | meaning |\n|---|---|---|---|---|\n"
    scenarios = "| scenario | expected | waves | lanes | ports | slots | servers | calls | what it does |\n|---|---|---|---|---|---|---|---|---|\n"
    for scenario in listed["scenarios"]:
        if scenario["name"].startswith("zoo."):
            continue  # docs/zoo.md lists them
        defaults = dict.fromkeys(KEYS, "-")
        for parameter in scenario["parameters"]:
            if parameter["key"] in KEYS:
                defaults[parameter["key"]] = parameter["default"]
            elif scenario["name"] == "port.echo":
                machine += row_of(parameter)
        columns = "".join(f" {defaults[key]} |" for key in KEYS)
        scenarios += f"| `{scenario['name']}` | {scenario['expected']} |{columns} {scenario['summary']} |\n"
    missing = [table for table in (machine, scenarios) if table not in page]
    for table in missing:
        print(f"docs/settings.md must hold this table:\n\n{table}")
    sys.exit("docs/settings.md differs from heddle list --json" if missing else 0)


main()
