"""C++ source as text: without comments and literals, and cut into functions.

Not a parser. It knows braces, parentheses and what stands before them, which is enough to measure
functions in formatted code.
"""
import re

_CONTROL = re.compile(r"^\s*(if|for|while|switch|catch|do|else|try)\b")
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|concept)\b[^()=]*$")
_EXTERN = re.compile(r'\bextern\s*(" *")?\s*$')
_MEMBER_INIT = re.compile(r"\)[^;]*?(?<!:):(?!:).*[\w>]\s*$", re.S)
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|(?:u8|[uUL])?R"([^()\s\\]*)\(.*?\)\1"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'', re.S)


def _blank(text):
    """Spaces of the same length; line ends stay."""
    return re.sub(r"[^\n]", " ", text)


def strip(text, keep_strings=False):
    """The same text, line by line, with comments and (unless kept) literals blanked."""
    def replace(match):
        token = match[0]
        if token.startswith(("//", "/*")):
            return _blank(token)
        if keep_strings:
            return token
        return '"' + _blank(token[1:-1]) + '"'
    return _TOKEN.sub(replace, text)


def comments(text):
    """(line, text) of each comment."""
    for match in _TOKEN.finditer(text):
        if match[0].startswith(("//", "/*")):
            yield text.count("\n", 0, match.start()) + 1, match[0]


def _without_directives(text):
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: _blank(m[0]), text, flags=re.M)


def _matching(text, start):
    """Index of the brace that closes the one at `start`, or the end of the text."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(text)


def _kind(head):
    """What a brace opens, from the text before it: scope, member, function or value."""
    if _SCOPE.search(head) or _EXTERN.search(head):
        return "scope"
    if _MEMBER_INIT.search(head):
        return "member"
    if ")" in head and not head.rstrip().endswith(("=", ",", "(")) and not _CONTROL.match(head):
        return "function"
    return "value"


def functions(text):
    """(first line, name, number of lines) of each outermost function, its signature included."""
    text = _without_directives(strip(text))
    position = head_start = 0
    for _ in range(len(text)):
        match = re.compile(r"[;{}]").search(text, position)
        if match is None:
            return
        position = match.end()
        if match[0] != "{":
            head_start = position
            continue
        head = text[head_start:match.start()]
        kind = _kind(head)
        if kind == "scope":
            head_start = position
            continue
        end = _matching(text, match.start())
        if kind == "function":
            head = re.sub(r"^(\s*(public|private|protected)\s*:)+", lambda m: _blank(m[0]), head)
            first = head_start + len(head) - len(head.lstrip())
            line = text.count("\n", 0, first) + 1
            name = re.search(r"([\w:~]+|operator\s*\S+)\s*\(", head)
            yield line, name[1] if name else "lambda", text.count("\n", first, end) + 1
        position = end + 1
        head_start = head_start if kind == "member" else position
