#!/usr/bin/env python3
"""Compares two builds of the command: does a change leave everything as it was that users can see?

    equal.py BASE NEW [PADDED] [--schedules N] [--jobs J] [--moved OLD=NEW] [--reworded] [--only PART]...

BASE, NEW: two programs `heddle`. PADDED: that of BASE, linked so that its code and variables lie elsewhere: where its digests differ from
BASE's, they depend on addresses and are not compared. --moved: sources of BASE
under OLD are those of NEW under NEW, as 'tests/scenarios=scenarios'. --reworded: comments in the sources
that pages quote are not compared. PART: fuzz, explain, verify, tables; all by default.

fuzz     every scenario under each fidelity, convergence and strategy, and settings one at a time: verdict, steps, choices, digest, findings
explain  every finding with the settings by default: the text, the trace and the page of it
verify   every configuration that is to be proved: result, states, transitions, executions, runs, depth
tables   litmus and progress tables, and the zoo

Prints a line for each part, and each difference. Status 1 when there is one.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

STRATEGIES = ['mix', 'pct:3', 'surw', 'rhythm']
FIDELITIES = ['scoped', 'link', 'interleaving']
CONVERGENCES = ['independent', 'lockstep']
ALONE = ['races=count', 'doorbells=coalesced', 'driver=context', 'driver.devices=2', 'progress=obe', 'progress=hsa',
         'progress=cuda', 'progress=slots', 'points=atomics', 'starvation=20']
COUNTED = ['verdict', 'steps', 'choices', 'schedules']
TOLD = ['verdict', 'where', 'hang', 'seed', 'count', 'message', 'decided']


class Pair:
    def __init__(self, asked):
        self.base, self.new, self.padded = (os.path.abspath(each) if each else None
                                            for each in (asked.base, asked.new, asked.padded))
        self.schedules = asked.schedules
        self.reworded = asked.reworded
        self.renamed = [each.split('=', 1) for each in asked.moved or []]
        self.differences = []

    def moved(self, text):
        for old, new in self.renamed:
            text = text.replace(old, new)
        # Columns are as wide as the paths in them.
        return re.sub(r' {2,}', '  ', text) if self.renamed else text

    def run(self, program, *arguments, folder=None):
        return subprocess.run([program, *arguments], capture_output=True, text=True, cwd=folder, check=False)

    def answers(self, *arguments, programs=None):
        """The JSON that each of the programs prints; what is no JSON is compared as it is."""
        made = []
        for program in programs or (self.base, self.new):
            ended = self.run(program, *arguments)
            try:
                made.append(json.loads(ended.stdout))
            except json.JSONDecodeError:
                made.append({'status': ended.returncode, 'out': ended.stdout, 'err': ended.stderr})
        return made

    def differ(self, where, what, one, other):
        if one != other:
            self.differences.append(f'{where}: {what}: {short(one)} against {short(other)}')
        return one != other


def short(value):
    text = json.dumps(value) if not isinstance(value, str) else value
    return text if len(text) <= 160 else text[:160] + '...'


def by_name(answer):
    return {each['name']: each for each in answer.get('scenarios', [])}


def fuzz_arguments(pair):
    plain = ['fuzz', '--json', '--seed', '1', '--jobs', '1', '--schedules', str(pair.schedules)]
    for strategy, fidelity, convergence in itertools.product(STRATEGIES, FIDELITIES, CONVERGENCES):
        yield plain + ['--strategy', strategy, '--set', f'fidelity={fidelity}', '--set', f'convergence={convergence}']
    for setting in ALONE:
        yield plain + ['--set', setting]


def compare_fuzz(pair, arguments, unstable):
    base, new = pair.answers(*arguments)
    where = ' '.join(arguments[8:])
    one, other = by_name(base), by_name(new)
    if not one and base != new:
        # A setting that some scenario refuses: both must say so in the same words.
        pair.differ(where, 'answer', base, new)
        return 0
    pair.differ(where, 'scenarios', sorted(one), sorted(other))
    for name in sorted(set(one) & set(other)):
        for what in COUNTED + (['digest'] if name not in unstable else []):
            pair.differ(f'{where} {name}', what, one[name][what], other[name][what])
        told = [[{what: each[what] for what in TOLD} for each in answer[name]['findings']] for answer in (one, other)]
        pair.differ(f'{where} {name}', 'findings', *(ADDRESS.sub('0x', pair.moved(json.dumps(each))) for each in told))
    return len(one)


def unstable_digests(pair):
    """Scenarios whose digests depend on where things lie in the program."""
    if pair.padded is None:
        return set()
    found = set()
    for fidelity in FIDELITIES:
        arguments = ['fuzz', '--json', '--seed', '1', '--jobs', '1', '--schedules', str(pair.schedules), '--set', f'fidelity={fidelity}']
        one, other = (by_name(each) for each in pair.answers(*arguments, programs=(pair.base, pair.padded)))
        found |= {name for name in one if one[name]['digest'] != other[name]['digest']}
    return found


ADDRESS = re.compile(r'0x[0-9a-f]{6,}')
COMMENT = re.compile(r'//(?:[^"\\]|\\.)*"')  # to the end of a line that is a string of JSON
BUILD = re.compile(r'"(?:build|build_id|token|file)": *"[^"]*"|build [0-9a-f]{8,}')


def plain(text, program, token):
    return BUILD.sub('""', ADDRESS.sub('0x', text.replace(token, 'TOKEN').replace(program, 'heddle')))


def compare_explained(pair, name, tokens):
    told, pages = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number, (program, token) in enumerate(zip((pair.base, pair.new), tokens)):
            told.append(plain(pair.moved(pair.run(program, 'replay', token, '--trace').stdout), program, token))
            file = os.path.join(folder, f'{number}.html')
            ended = pair.run(program, 'report', token, '-o', file)
            if not os.path.exists(file):
                pages.append(plain(f'no page, status {ended.returncode}: {ended.stdout}{ended.stderr}', program, token))
                continue
            with open(file, encoding='utf-8') as page:
                text = plain(pair.moved(page.read()), program, token)
                pages.append(COMMENT.sub('//"', text) if pair.reworded else text)
    for what, (one, other) in (('trace', told), ('page', pages)):
        if one != other:
            line = next((pair_of for pair_of in zip(one.split('\n'), other.split('\n')) if pair_of[0] != pair_of[1]),
                        (f'{len(one)} bytes', f'{len(other)} bytes'))
            pair.differ(name, what, *line)
    return 1


def without(value, keys):
    if isinstance(value, dict):
        return {key: without(each, keys) for key, each in value.items() if key not in keys}
    if isinstance(value, list):
        return [without(each, keys) for each in value]
    return value


TIMES = {'seconds', 'milliseconds', 'schedules_per_second', 'token', 'file', 'memory_mib', 'runs_per_second', 'build',
         'shrunk_token', 'seconds_max', 'bytes', 'memory_bytes', 'peak_bytes', 'digest'}


def compare_answer(pair, arguments):
    base, new = (json.loads(ADDRESS.sub('0x', pair.moved(json.dumps(without(each, TIMES))))) for each in pair.answers(*arguments))
    where = ' '.join(arguments)
    lists = [key for key, value in base.items() if isinstance(value, list)] if isinstance(base, dict) else []
    if not lists or not isinstance(new, dict):
        pair.differ(where, 'answer', base, new)
        return 1
    for key in lists:
        for one, other in itertools.zip_longest(base[key], new.get(key, [])):
            pair.differ(where, key, one, other)
    pair.differ(where, 'answer', without(base, set(lists)), without(new, set(lists)))
    return sum(len(base[key]) for key in lists)


def tables():
    return [['litmus', '--json', '--schedules', '2000', '--jobs', '1'], ['progress', '--json'],
            ['progress', '--simulate', '--json', '--schedules', '200'],
            ['zoo', '--json', '--schedules', '2000', '--twin', '500', '--jobs', '1']]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('base')
    parser.add_argument('new')
    parser.add_argument('padded', nargs='?')
    parser.add_argument('--schedules', type=int, default=100)
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--moved', action='append', metavar='OLD=NEW')
    parser.add_argument('--reworded', action='store_true')
    parser.add_argument('--only', action='append', choices=['fuzz', 'explain', 'verify', 'tables'])
    asked = parser.parse_args()
    pair = Pair(asked)
    parts = asked.only or ['fuzz', 'explain', 'verify', 'tables']
    for program in (pair.base, pair.new):
        if not os.access(program, os.X_OK):
            print(f'{program} is no program', file=sys.stderr)
            return 2
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as crew:
        if 'fuzz' in parts:
            unstable = unstable_digests(pair)
            if pair.padded:
                print(f'digests that depend on addresses: {" ".join(sorted(unstable)) or "none"}', flush=True)
            counts = list(crew.map(lambda each: compare_fuzz(pair, each, unstable), fuzz_arguments(pair)))
            print(f'fuzz: {sum(counts)} campaigns of {pair.schedules} schedules in {len(counts)} configurations', flush=True)
        if 'explain' in parts:
            arguments = ['fuzz', '--json', '--seed', '1', '--jobs', '1', '--schedules', str(pair.schedules)]
            one, other = (by_name(each) for each in pair.answers(*arguments))
            told = [(f'{name} {first["verdict"]} {first["where"]}', (first['token'], second['token']))
                    for name in sorted(set(one) & set(other))
                    for first, second in zip(one[name]['findings'], other[name]['findings'])]
            made = sum(crew.map(lambda each: compare_explained(pair, *each), told))
            print(f'explain: {made} findings', flush=True)
            if made == 0:
                pair.differences.append('explain: nothing was found, so nothing was compared')
        if 'verify' in parts:
            print(f"verify: {compare_answer(pair, ['verify', '--all', '--json'])} configurations", flush=True)
        if 'tables' in parts:
            made = sum(crew.map(lambda each: compare_answer(pair, each), tables()))
            print(f'tables: {made} rows', flush=True)
    for line in pair.differences[:200]:
        print(line)
    print('equal' if not pair.differences else f'{len(pair.differences)} differences')
    return 1 if pair.differences else 0


if __name__ == '__main__':
    sys.exit(main())
