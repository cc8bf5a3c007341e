"""The first look at untrusted text, before any parser sees it.

Defends against: texts that harm or mislead a reader before a rule can be applied to their tree. That is, text that is
too large, nested too deep or chained too long for CPython's parser and for recursive visitors; digits that take
quadratic time to read; characters that people do not see or that look like others (null bytes, bidirectional
overrides, zero-width characters, identifiers outside ASCII, which Python normalises); declarations of another encoding.

Does not defend against: anything that a well-formed text of reasonable size can say. That is the static layer's work.

The scan is lexical and linear. Where it reads a text otherwise than Python does, the text is refused or its tree meets
`check_tree_size` after parsing, so a disagreement costs nothing but a worse message.
"""

import ast
import re
import unicodedata

from sandbox.errors import Refused

MAX_BYTES = 65_536
MAX_LINES = 1_000
MAX_CODE_BYTES = 9_216
"""Bytes without comments, for a program that is to run: a rule that a person can read is shorter."""
MAX_TOKENS = 32_000
MAX_NESTING = 24
"""Open brackets at one time; also compound statements inside each other."""
MAX_CHAIN = 120
"""Operators, subscripts and the like in one expression between commas, open brackets counted together."""
MAX_ELIF = 60
MAX_DIGITS = 40
MAX_DEPTH = 180
"""Levels of the parsed tree: what a visitor with three frames a level can walk within Python's recursion limit."""
MAX_NODES = 40_000

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t]+|\\\n)
  | (?P<newline>\n)
  | (?P<comment>\#[^\n]*)
  | (?P<string>(?:[rR][bBfF]?|[bBfFuU][rR]?)?(?:
        '''(?:[^\\]|\\.)*?''' | \"\"\"(?:[^\\]|\\.)*?\"\"\"
      | '(?:[^'\\\n]|\\.)*'   | "(?:[^"\\\n]|\\.)*"))
  | (?P<number>\.?[0-9](?:[eE][+-]|[0-9a-zA-Z_.])*)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<open>[(\[{])
  | (?P<close>[)\]}])
  | (?P<comma>[,;])
  | (?P<operator>\*\*=?|//=?|<<=?|>>=?|[-+*/%@&|^<>=!:]=|->|[-+*/%@&|^~<>=.:])
    """,
    re.VERBOSE | re.DOTALL,
)

_CHAINING = {"and", "or", "not", "if", "else", "lambda", "in", "is", "for", "await", "yield"}
_DECLARATION = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def check_text(source: str) -> int:
    """Check size, characters, tokens and nesting of a program's text.

    Args:
        source: the text, from anywhere.

    Returns:
        Bytes of its code, comments left out.

    Raises:
        Refused: naming the line, the rule and what to write instead.
    """
    if not source.strip():
        raise Refused("the program is empty: write the entry function", rule="text")
    if len(source) > MAX_BYTES or len(source.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Refused(f"the program is longer than {MAX_BYTES} bytes: write a shorter one", rule="size")
    if source.count("\n") >= MAX_LINES:
        raise Refused(f"the program has more than {MAX_LINES} lines: write a shorter one", rule="size")
    source = source.replace("\r\n", "\n")
    _check_characters(source)
    _check_declaration(source)
    return len(source.encode()) - _Scan(source).run()


def check_tree_size(tree: ast.AST) -> None:
    """Bound the depth and size of a parsed tree without recursion, so that recursive visitors are safe.

    Raises:
        Refused: if the tree is too deep or too large.
    """
    level: list[ast.AST] = [tree]
    nodes = 0
    for _ in range(MAX_DEPTH):
        nodes += len(level)
        if nodes > MAX_NODES:
            raise Refused("the program is too large: write a shorter one", rule="size")
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    line = getattr(level[0], "lineno", None)
    raise Refused("the program is nested too deep: split it into steps", rule="size", line=line)


def _line(source: str, position: int) -> int:
    return source.count("\n", 0, position) + 1


def _check_characters(source: str) -> None:
    if source.isascii() and source.replace("\n", "").replace("\t", "").isprintable():
        return
    for position, character in enumerate(source):
        if character in "\n\t" or (" " <= character <= "~"):
            continue
        if unicodedata.category(character) in _UNSEEN:
            raise Refused(
                f"the unseen character U+{ord(character):04X} is not allowed: delete it",
                rule="text",
                line=_line(source, position),
            )


def _check_declaration(source: str) -> None:
    for number, line in enumerate(source.split("\n", 2)[:2], start=1):
        found = _DECLARATION.match(line)
        if found and found.group(1).lower() not in {"utf-8", "utf8", "ascii", "us-ascii"}:
            raise Refused("an encoding declaration is not allowed: delete it", rule="text", line=number)


class _Scan:
    """One pass over the tokens, counting what makes parsers and visitors go deep."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = 0
        self.links = [0]  # chain length since the last comma, for each open bracket
        self.elifs = 0
        self.indents = [0]
        self.at_line_start = True

    def run(self) -> int:
        """Go through the text; returns the bytes of its comments."""
        position, end, comments = 0, len(self.source), 0
        while position < end:
            match = _TOKEN.match(self.source, position)
            if match is None:
                raise self._bad_character(position)
            kind = match.lastgroup or ""
            if kind == "space":
                position = match.end()
                continue
            if self.at_line_start and kind not in {"newline", "comment"}:
                self._indent(position)
            self._count(kind, match.group(), position)
            if kind == "comment":
                comments += len(match.group().encode())
            position = match.end()
        return comments

    def _bad_character(self, position: int) -> Refused:
        character = self.source[position]
        line = _line(self.source, position)
        if character in "'\"":
            return Refused("a string is not closed on its line: close it", rule="syntax", line=line)
        shown = character if character.isprintable() else f"U+{ord(character):04X}"
        return Refused(f"the character {shown} is not allowed outside strings and comments", rule="text", line=line)

    def _indent(self, position: int) -> None:
        self.at_line_start = False
        if len(self.links) > 1:
            return  # inside brackets, layout means nothing
        width = position - (self.source.rfind("\n", 0, position) + 1)
        while width < self.indents[-1]:
            self.indents.pop()
        if width > self.indents[-1]:
            self.indents.append(width)
            if len(self.indents) > MAX_NESTING:
                self._refuse("statements are nested too deep: split them into functions", position)

    def _count(self, kind: str, text: str, position: int) -> None:
        self.tokens += 1
        if self.tokens > MAX_TOKENS:
            self._refuse(f"the program has more than {MAX_TOKENS} tokens: write a shorter one", position)
        if kind in {"open", "close"}:
            self._bracket(kind, text, position)
        elif kind in {"operator", "string"} or text in _CHAINING:
            self._link(position)
        elif kind == "comma":
            self.links[-1] = 0
        elif kind == "newline":
            self.at_line_start = True
            if len(self.links) == 1:
                self.links[0] = 0
        elif kind == "number" and len(text) > MAX_DIGITS:
            self._refuse(f"a number has more than {MAX_DIGITS} characters: write a shorter one", position)
        elif text == "elif":
            self.elifs += 1
            if self.elifs > MAX_ELIF:
                self._refuse(f"there are more than {MAX_ELIF} elif: use a table or a loop", position)

    def _link(self, position: int) -> None:
        self.links[-1] += 1
        if sum(self.links) > MAX_CHAIN:
            self._refuse("an expression is too long: split it into steps", position)

    def _bracket(self, kind: str, text: str, position: int) -> None:
        if kind == "open":
            self._link(position)  # a call or a subscript is a link of the chain around it
            self.links.append(0)
            if len(self.links) > MAX_NESTING:
                self._refuse("brackets are nested too deep: split the expression into steps", position)
        elif len(self.links) == 1:
            self._refuse(f"a closing {text} has no opening bracket", position, rule="syntax")
        else:
            self.links.pop()

    def _refuse(self, message: str, position: int, rule: str = "size") -> None:
        raise Refused(message, rule=rule, line=_line(self.source, position))
