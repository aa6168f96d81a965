"""Reads C++ sources as far as the rules about their shape need: comments, includes, classes, functions. Not a compiler: it knows this
tree's layout (one declaration a statement, no macros that open braces), and check.py tests it against sources with known answers."""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])+\'', re.S)
DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<heddle/([^>]+)>|"([^"]+)")', re.M)


@dataclass
class Comment:
    line: int
    text: str


@dataclass
class Class:
    name: str
    line: int
    members: int = 0
    functions: int = 0


@dataclass
class Function:
    name: str
    line: int
    parameters: int
    lines: int = 0  # 0: only declared


@dataclass
class Source:
    lines: int
    includes: list
    comments: list
    strings: list  # as Comments: what stands between their quotes
    classes: list = field(default_factory=list)
    functions: list = field(default_factory=list)


def blank(text):
    """As many lines, and nothing on them."""
    return '\n' * text.count('\n')


def without_comments(text):
    """The code with strings emptied, the comments, and what stood in the strings."""
    comments = []
    strings = []
    parts = []
    last = 0
    for found in TOKEN.finditer(text):
        token = found.group(0)
        parts.append(text[last:found.start()])
        last = found.end()
        if token.startswith(('//', '/*')):
            comments.append(Comment(text.count('\n', 0, found.start()) + 1, token))
            parts.append(blank(token))
        elif token.startswith("'"):
            parts.append('0')
        else:
            strings.append(Comment(text.count('\n', 0, found.start()) + 1, token.strip('"')))
            parts.append('""' + blank(token))
    parts.append(text[last:])
    return ''.join(parts), comments, strings


def without_template_arguments(text):
    """A declaration without <...>, so that commas and parentheses in there do not count. Operators keep theirs."""
    text = re.sub(r'operator\s*(<=>|<<=?|>>=?|<=?|>=?|->\*?|\(\))', 'operator_', text)
    text = text.replace('->', '  ').replace('<=', '  ').replace('>=', '  ')
    while True:
        shorter = re.sub(r'(?<=[\w>])\s*<[^<>;{}]*>', '', text)
        if shorter == text:
            return text
        text = shorter


def at_top(text, what):
    """Where these characters stand outside of all brackets."""
    depth = 0
    places = []
    for place, sign in enumerate(text):
        if sign in '([{':
            depth += 1
        elif sign in ')]}':
            depth -= 1
        elif sign in what and depth == 0:
            places.append(place)
    return places


def without_attributes(text):
    text = re.sub(r'\[\[.*?\]\]', ' ', text, flags=re.S)
    text = re.sub(r'\b(?:alignas|__attribute__|asm|explicit|requires|decltype|noexcept)\s*(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))',
                  ' ', text)
    return re.sub(r'\b(?:public|private|protected)\s*:', ' ', text)


SKIPPED = re.compile(r'^\s*(?:using|typedef|friend|static_assert|template\s+(?:class|struct|<)?\s*$|namespace|extern|enum)\b')
NO_FUNCTION = {'if', 'for', 'while', 'switch', 'catch', 'return', 'sizeof', 'alignof', 'static_assert', 'defined'}


def signature(statement):
    """Name and number of parameters of the function that a statement declares; None where it declares none."""
    text = without_template_arguments(without_attributes(re.sub(r'^\s*template\s*<', 'template <', statement)))
    text = re.sub(r'^\s*template\s*', '', text)
    open_at = text.find('(')
    if open_at < 0:
        return None
    equals = [place for place in at_top(text, '=') if place < open_at]
    if equals:
        return None
    name = re.search(r'([~\w:]+)\s*$', text[:open_at])
    if name is None or name.group(1) in NO_FUNCTION or not re.search(r'[A-Za-z_]', name.group(1)):
        return None
    depth = 0
    close_at = len(text)
    for place in range(open_at, len(text)):
        depth += {'(': 1, ')': -1}.get(text[place], 0)
        if depth == 0:
            close_at = place
            break
    inner = text[open_at + 1:close_at]
    if inner.strip() in ('', 'void'):
        return name.group(1), 0
    return name.group(1), len(at_top(inner, ',')) + 1


def members_of(statement):
    """How many data members of each object a statement declares."""
    text = without_template_arguments(without_attributes(statement)).strip()
    if not text or SKIPPED.match(text) or re.match(r'(?:inline\s+)?(?:static|constexpr)\b', text):
        return 0
    if re.match(r'(?:class|struct|union|enum)\b[^{]*$', text) and len(text.split()) == 2:
        return 0  # declared only
    return len(at_top(text, ',')) + 1


def read(text):
    """Source: what is in the text of one file."""
    includes = [(text.count('\n', 0, found.start()) + 1, found.group(1), found.group(2)) for found in INCLUDE.finditer(text)]
    code, comments, strings = without_comments(text)
    made = Source(text.count('\n'), includes, comments, strings)
    code = DIRECTIVE.sub(lambda found: blank(found.group(0)), code)
    scopes = []  # (kind, what, line): kinds are namespace, class, function, other
    statement = ''
    began = 1
    line = 1
    place = 0
    while place < len(code):
        sign = code[place]
        if sign == '\n':
            line += 1
        inside = scopes[-1][0] if scopes else 'namespace'
        if sign == '{':
            kind, what = opens(statement, inside)
            if kind == 'value':
                end = matching(code, place)
                line += code.count('\n', place, end)
                statement += '{}' + ' ' * 0
                place = end + 1
                continue
            if kind == 'function':
                if inside == 'class':
                    scopes[-1][1].functions += 1
                what = Function(what[0], began, what[1])
                made.functions.append(what)
            elif kind == 'class':
                what = Class(what, began)
                made.classes.append(what)
            scopes.append((kind, what, began))
            statement = ''
        elif sign == '}':
            if scopes:
                kind, what, first = scopes.pop()
                if kind == 'function':
                    what.lines = line - first + 1
                # `struct {...} name;` is a member of what is around it.
                statement = 'struct_ ' if kind == 'class' and scopes and scopes[-1][0] == 'class' else ''
        elif sign == ';' and balanced(statement):
            if inside in ('class', 'namespace'):
                declared(statement, began, scopes[-1][1] if inside == 'class' else None, made)
            statement = ''
        else:
            if not statement.strip() and not sign.isspace():
                statement = ''
                began = line
            statement += sign
            if statement.strip() in ('public:', 'private:', 'protected:'):
                statement = ''
        place += 1
    return made


def balanced(statement):
    return statement.count('(') == statement.count(')')


def matching(code, place):
    depth = 0
    for at in range(place, len(code)):
        depth += {'{': 1, '}': -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code) - 1


def opens(statement, inside):
    """What a brace opens after this statement."""
    text = without_attributes(statement).strip()
    if inside in ('function', 'other'):
        return 'other', None
    if not balanced(statement):
        return 'value', None
    if re.match(r'(?:inline\s+)?namespace\b', text) or re.match(r'extern\s*""$', text):
        return 'namespace', None
    plain = re.sub(r'^template\s*', '', without_template_arguments(re.sub(r'^template\s*<', 'template <', text)))
    if re.match(r'enum\b', plain):
        return 'other', None
    named = re.match(r'(?:typedef\s+)?(?:class|struct|union)\s*([\w:]*)\s*(?:final)?\s*(?::[^:].*)?$', plain, re.S)
    if named:
        return 'class', named.group(1) or '(unnamed)'
    found = signature(statement)
    if found is None:
        return 'value', None
    # Members that a constructor gives their first values, in braces, before its body.
    tail = re.search(r'\)[^()]*?[^:]:(?!:)(.*)$', plain, re.S)
    if tail and re.search(r'[\w>]$', plain) and not re.search(r'\b(?:const|noexcept|override|final|try)$', plain):
        return 'value', None
    return 'function', found


def declared(statement, line, around, made):
    text = without_attributes(statement).strip()
    if text.startswith('struct_'):
        if around is not None and len(text.split()) > 1:
            around.members += 1
        return
    if not text or SKIPPED.match(text):
        return
    found = signature(statement)
    if found is not None:
        if re.search(r'=\s*(?:delete|default)\s*$', text):
            return
        made.functions.append(Function(found[0], line, found[1]))
        if around is not None:
            around.functions += 1
    elif around is not None:
        around.members += members_of(statement)
