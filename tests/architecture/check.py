#!/usr/bin/env python3
"""Checks the shape of the tree against rules.toml: which room includes which, and how large things are.

    check.py ROOT RULES          prints each violation in a line; status 1 when there is one
    check.py ROOT RULES --graph  prints the rooms and what they include, in the order in which they may
"""

import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict

sys.dont_write_bytecode = True
import sources

# Things are "it" in comments and in what is printed; a person is you, who reads them.
PERSONS = re.compile(r'\b(who|whom|whoever|somebody|someone|anybody|anyone|nobody|no one|everybody|everyone|'
                     r'he|she|him|his|her|hers|himself|herself)\b', re.I)
CODE = ('.h', '.cpp', '.cu', '.hip', '.inc')


def tracked(root):
    """The files of the tree: those that git knows, or all where it is no checkout."""
    if os.path.isdir(os.path.join(root, '.git')):
        listed = subprocess.run(['git', '-C', root, 'ls-files', '--cached', '--others', '--exclude-standard'],
                                capture_output=True, text=True, check=True).stdout.split('\n')
        return sorted(set(name for name in listed if name and os.path.exists(os.path.join(root, name))))
    return sorted(os.path.relpath(os.path.join(folder, name), root)
                  for folder, _, names in os.walk(root) for name in names)


class Tree:
    def __init__(self, root, rules):
        self.rules = rules
        self.files = tracked(root)
        inside = tuple(name + '/' for name in rules['checked'])
        self.read = {}
        for name in self.files:
            if name.startswith(inside) and name.endswith(CODE):
                with open(os.path.join(root, name), encoding='utf-8') as file:
                    self.read[name] = sources.read(file.read())
        self.tops = {name: room for room, names in rules.get('tops', {}).items() for name in names}

    def room(self, name):
        """A folder is a room. Some of its files may be a room of their own: what stands on top of it."""
        return self.tops.get(name, os.path.dirname(name))

    def included(self, name, angled, quoted):
        if quoted is not None:
            return os.path.normpath(os.path.join(os.path.dirname(name), quoted))
        for prefix, folder in self.rules['includes'].items():
            if angled.startswith(prefix):
                return folder + angled[len(prefix):]
        return angled

    def edges(self):
        """room -> room -> [what says so]"""
        found = defaultdict(lambda: defaultdict(list))
        for name, source in self.read.items():
            for line, angled, quoted in source.includes:
                other = self.included(name, angled, quoted)
                if other in self.read and self.room(other) != self.room(name):
                    found[self.room(name)][self.room(other)].append(f'{name}:{line} includes {other}')
        return found


def order_of(allowed):
    """The rooms, each behind those that it may include; and a cycle among them, if there is one."""
    order, state = [], {}

    def visit(room, way):
        if state.get(room) == 'done':
            return None
        if state.get(room) == 'open':
            return way[way.index(room):] + [room]
        state[room] = 'open'
        for other in sorted(allowed.get(room, [])):
            cycle = visit(other, way + [room])
            if cycle:
                return cycle
        state[room] = 'done'
        order.append(room)
        return None

    for room in sorted(allowed):
        cycle = visit(room, [])
        if cycle:
            return order, cycle
    return order, None


def check_rooms(tree, rules):
    allowed = rules['rooms']
    told = []
    _, cycle = order_of(allowed)
    if cycle:
        told.append('rooms: rules.toml allows a cycle: ' + ' -> '.join(cycle))
    rooms = {tree.room(name) for name in tree.read}
    for room in sorted(rooms - set(allowed)):
        told.append(f'rooms: {room} is not in rules.toml: say what it may include')
    for room in sorted(set(allowed) - rooms):
        told.append(f'rooms: {room} of rules.toml is not there')
    backward = {tuple(part.strip() for part in edge.split('->')) for edge in rules.get('backward', [])}
    seen = set()
    for room, others in sorted(tree.edges().items()):
        for other, places in sorted(others.items()):
            if other in allowed.get(room, []):
                continue
            seen.add((room, other))
            if (room, other) not in backward:
                told.append(f'rooms: {room} may not include {other}: {places[0]}'
                            + (f', and {len(places) - 1} more' if len(places) > 1 else ''))
    for room, other in sorted(backward - seen):
        told.append(f'rooms: {room} -> {other} is gone: take it out of `backward` in rules.toml')
    return told


def measure(tree):
    """(what, where, how much) of everything that has a limit."""
    for name, source in tree.read.items():
        yield 'file_lines', name, source.lines
        for each in source.classes:
            yield 'class_members', f'{name} {each.name}', each.members
            yield 'class_functions', f'{name} {each.name}', each.functions
        for each in source.functions:
            yield 'parameters', f'{name}:{each.line} {each.name}', each.parameters
            yield 'function_lines', f'{name}:{each.line} {each.name}', each.lines


def check_limits(tree, rules):
    limits = rules['limits']
    raised = {(each['what'], each['where']): each for each in rules.get('raised', [])}
    told, over, excess, used = [], defaultdict(list), defaultdict(int), set()
    for each in raised.values():
        if not each.get('why'):
            told.append(f"limits: {each['where']}: a limit that is raised needs a reason")
    if len(raised) > limits['raised']:
        told.append(f"limits: {len(raised)} are raised, at most {limits['raised']} may be")
    for what, where, much in measure(tree):
        key = (what, re.sub(r':\d+', '', where))
        most = limits[what]
        if key in raised:
            most = raised[key]['to']
            used.add(key)
        if much > most:
            over[what].append(f'{where}: {much}, at most {most}')
            excess[what + '_excess'] += much - most
    for what, where in sorted(set(raised) - used):
        told.append(f'limits: {where} has no {what}: take it out of `raised`')
    return told, over, excess


def persons(tree):
    found = defaultdict(list)
    for name, source in tree.read.items():
        for comment in source.comments + source.strings:
            for past, text in enumerate(comment.text.split('\n')):
                if PERSONS.search(text):
                    found['persons_' + name.split('/')[0]].append(f'{name}:{comment.line + past}: {text.strip()}')
    return found


def check_public(root, tree):
    """Headers that are installed, as cmake/public_headers.txt lists them, include none that is not."""
    listed = os.path.join(root, 'cmake', 'public_headers.txt')
    if not os.path.exists(listed):
        return []
    with open(listed, encoding='utf-8') as file:
        patterns = [line.strip() for line in file if line.strip() and not line.startswith('#')]
    told = []
    public = set()
    for pattern in patterns:
        one_folder = re.compile(''.join('[^/]*' if part == '*' else re.escape(part) for part in re.split(r'(\*)', pattern)) + '$')
        found = {name for name in tree.files if one_folder.match(name)}
        if not found:
            told.append(f'public: cmake/public_headers.txt: there is no {pattern}')
        public |= found
    for name in sorted(public & set(tree.read)):
        for line, angled, quoted in tree.read[name].includes:
            other = tree.included(name, angled, quoted)
            if other in tree.read and other not in public:
                told.append(f'public: {name}:{line} is installed and includes {other}, which is not')
    return told


def check_numbers(tree, rules, over, excess):
    """Numbers that may only fall: how many are over a limit and by how much in all, and what no limit is for."""
    found = dict(over)
    found.update(persons(tree))
    numbers = {what: len(places) for what, places in found.items()}
    numbers.update(excess, tracked_files=len(tree.files))
    told = []
    for what in sorted(set(numbers) | set(rules['falling'])):
        now, most = numbers.get(what, 0), rules['falling'].get(what, 0)
        if now > most:
            told.append(f'numbers: {what} is {now}, and may be {most} at most')
            told += ['  ' + place for place in found.get(what, [])[:40]]
        elif now < most and what != 'tracked_files' and not what.endswith('_excess'):
            told.append(f'numbers: {what} has fallen to {now}: write it into rules.toml, where {most} stands')
    return told


def check(root, rules_file):
    with open(rules_file, 'rb') as file:
        rules = tomllib.load(file)
    tree = Tree(root, rules)
    if not tree.read:
        return [f'{root}: no sources in {", ".join(rules["checked"])}'], tree, rules
    told = check_rooms(tree, rules)
    more, over, excess = check_limits(tree, rules)
    return told + more + check_public(root, tree) + check_numbers(tree, rules, over, excess), tree, rules


def graph(tree, rules):
    order, _ = order_of(rules['rooms'])
    edges = tree.edges()
    for room in order:
        print(f"{room}: {' '.join(sorted(edges.get(room, {})))}".rstrip())


def main():
    if len(sys.argv) not in (3, 4) or (len(sys.argv) == 4 and sys.argv[3] != '--graph'):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    told, tree, rules = check(sys.argv[1], sys.argv[2])
    if len(sys.argv) == 4:
        graph(tree, rules)
        return 0
    for line in told:
        print(line)
    return 1 if told else 0


if __name__ == '__main__':
    sys.exit(main())
