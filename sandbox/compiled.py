"""Compiled rows (stub)."""


class CompileFailed(Exception):
    pass


class CompiledRows:
    pass


def compile_rows(loaded, layout, plain):
    raise CompileFailed("not yet")
