"""Answers questions about a Python repository with Jedi.

    python jedi_worker.py MEMORY_BYTES

The working directory is the repository. Every request names a file by its path relative to it; `text` is there only
when it is another file or text than in the request before. Lines count from one, columns in characters from zero.
"""

import os
from pathlib import Path

from json_lines import serve, standard_path


class Worker:
    def __init__(self):
        # Imported here, so that a missing package is an answer and not an end without one.
        self.script = None
        self.root = Path.cwd()

    def answer_start(self, params):
        import jedi
        from jedi.api.environment import InterpreterEnvironment

        self.jedi = jedi
        # In this process: the same answers as from a process of its own, at half the cost.
        self.environment = InterpreterEnvironment()
        self.project = jedi.Project(str(self.root), sys_path=standard_path())
        return jedi.__version__

    def answer_complete(self, params):
        completions = self.open(params).complete(params["line"], params["column"])
        return [completion.name for completion in completions]

    def answer_goto(self, params):
        found = self.open(params).goto(params["line"], params["column"], follow_imports=True)
        return [self.place(name) for name in found]

    def answer_infer(self, params):
        return sorted({type_of(name) for name in self.open(params).infer(params["line"], params["column"])})

    def answer_errors(self, params):
        errors = self.open(params).get_syntax_errors()
        return [[error.line, error.column, error.until_line, error.until_column] for error in errors]

    def open(self, params):
        if "text" in params:
            self.script = None
            path = self.root / params["path"]
            self.script = self.jedi.Script(
                params["text"], path=path, project=self.project, environment=self.environment
            )
        # Jedi infers no node more than 300 times in the life of a script: without this, answers would get worse with
        # every question. Beside that, a script that is kept answers as a new one does, more than twice as fast.
        self.script._inference_state.inferred_element_counts = {}
        return self.script

    def place(self, name):
        path = name.module_path
        inside = path is not None and os.path.relpath(path, self.root)
        if not inside or inside.startswith(".."):
            inside = None
        # A module is defined by its file, not by a word in it.
        line = None if name.type == "module" else name.line
        return {"name": name.name, "path": inside, "module": name.module_name, "line": line, "column": name.column}


def type_of(name):
    """Writes the type of a value as Python does, as far as Jedi tells it."""
    if name.type == "instance":
        return name.get_type_hint() or name.name
    if name.type == "class":
        return f"type[{name.name}]"
    if name.type == "module":
        return "ModuleType"
    return name.get_type_hint() or name.type


if __name__ == "__main__":
    serve(Worker)
