#!/usr/bin/env bash
# The workflow of docs/campaigns.md: it is YAML, has ten lines, its packages are those that heddle is built with, and its commands, run one after
# the other in the project of README.md, find the planted bug within their time, end with status 1 and leave a JUnit file and the trace.
#
#   workflow.sh SOURCE PREFIX WORK COMPILER
set -euo pipefail
source=$1 prefix=$2 work=$3 compiler=$4
python3 -c 'import yaml' 2>/dev/null || { echo "skipped: there is no yaml for python3"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
block() { awk -v name="$1" -f "$source/tests/docs/block.awk" "$2" >"$work/$1"; }
block mine.cpp "$source/README.md"
block CMakeLists.txt "$source/README.md"
block workflow "$source/docs/campaigns.md"
[ "$(wc -l <"$work/workflow")" -le 10 ] || { echo "more than ten lines"; exit 1; }
python3 - "$work" <<'PYTHON'
import sys, yaml
work = sys.argv[1]
flow = yaml.safe_load(open(f"{work}/workflow"))
triggers = flow.get("on", flow.get(True))  # YAML 1.1 reads the key as a boolean
assert triggers == ["push"], triggers
(job,) = flow["jobs"].values()
assert job["runs-on"] and job["container"] == "debian:12"
for step in job["steps"]:
    assert ("run" in step) != ("uses" in step), step
commands = [step["run"] for step in job["steps"] if "run" in step]
uses = [step for step in job["steps"] if "uses" in step]
assert uses[0]["uses"].startswith("actions/checkout@"), uses
assert uses[-1]["if"] == "failure()" and uses[-1]["with"]["path"] == "findings", uses
with open(f"{work}/commands", "w") as out:
    print(*(c.replace("${{ github.run_number }}", "7").replace("--time 10m", "--time 3s") for c in commands), sep="\n", file=out)
PYTHON
{ read -r packages; read -r build; read -r fuzz; } <"$work/commands"
# The first installs: those packages, and not others, but for what tests and benchmarks alone need (python3: tests/architecture).
diff <(sed -n '/^\[build\]/,/^\[/{/^\[/d;s/[[:space:]]*#.*//;/./p}' "$source/cmake/debian-packages.txt" | grep -vE 'gtest|benchmark|python3' | sort) \
  <(sed 's/.*install -y //' <<<"$packages" | tr ' ' '\n' | grep -v '^git$' | sort) || { echo "< the build needs, > the workflow installs"; exit 1; }
cd "$work"
export CMAKE_PREFIX_PATH=$prefix CXX=$compiler
bash -ec "$build"
status=0
bash -ec "$fuzz" || status=$?
[ $status = 1 ]
ls findings/lost-update-assertion-*.heddle.json
python3 - <<'PYTHON'
import xml.etree.ElementTree as xml
root = xml.parse("findings/junit.xml").getroot()
suite = root.find("testsuite")
assert root.tag == "testsuites" and suite.get("tests") == "1" and suite.get("failures") == "1", suite.attrib
failure = suite.find("testcase/failure")
assert "heddle2." in failure.text and "an update was lost" in failure.text, failure.text
PYTHON
