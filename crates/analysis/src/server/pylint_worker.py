"""Checks files of a Python repository with pylint.

    python pylint_worker.py MEMORY_BYTES

The working directory is the repository. A request names a file by its path relative to it.
"""

import contextlib
import io
import json
import os
import sys

from json_lines import serve, standard_path

# As published, and no statistics. What was learned of other modules is kept: without it, a check takes many times longer.
ARGUMENTS = ["--disable=C,R,W", "--persistent=n", "--jobs=1"]


class Worker:
    def answer_start(self, params):
        # Imported here, so that a missing package is an answer and not an end without one.
        import astroid
        import pylint.lint
        from pylint.reporters import JSONReporter

        self.modules = astroid.MANAGER.astroid_cache
        self.run = restricted(pylint.lint)
        self.reporter = JSONReporter
        return pylint.__version__

    def answer_check(self, params):
        report, complaint = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stderr(complaint):
                self.run([*ARGUMENTS, "--", params["path"]], reporter=self.reporter(report), exit=False)
        except SystemExit as end:
            raise RuntimeError(f"pylint ended with status {end.code}: {complaint.getvalue()}") from None
        self.forget(os.path.abspath(params["path"]))
        keys = ["symbol", "line", "column", "endLine", "endColumn"]
        messages = [[message[key] for key in keys] for message in json.loads(report.getvalue() or "[]")]
        return {"complaint": complaint.getvalue().strip(), "messages": messages}

    def forget(self, path):
        for name in [name for name, module in self.modules.items() if module.file == path]:
            del self.modules[name]


def restricted(lint):
    """Returns pylint for a repository that may import the standard library and itself."""

    class Linter(lint.PyLinter):
        def check(self, files):
            # Only now: pylint finds its own checkers on the path.
            everything, sys.path[:] = sys.path[:], standard_path()
            try:
                super().check(files)
            finally:
                sys.path[:] = everything

    class Run(lint.Run):
        LinterClass = Linter

    return Run


if __name__ == "__main__":
    serve(Worker)
