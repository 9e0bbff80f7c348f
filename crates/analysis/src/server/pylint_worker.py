"""Checks files of a Python repository with pylint.

    python pylint_worker.py MEMORY_BYTES

The working directory is the repository. A request names a file by its path relative to it.
"""

import contextlib
import io
import json
import sys

import json_lines
from json_lines import serve, standard_path

# As published, and nothing that lasts: neither statistics nor what was learned of other modules.
ARGUMENTS = ["--disable=C,R,W", "--persistent=n", "--clear-cache-post-run=y", "--jobs=1"]


class Worker:
    def answer_start(self, params):
        # Imported here, so that a missing package is an answer and not an end without one.
        import pylint
        import pylint.lint

        self.run = pylint.lint.Run
        from pylint.reporters import JSONReporter

        self.reporter = JSONReporter
        # pylint imports the rest of itself while it checks.
        self.check(json_lines.__file__)
        sys.path[:] = standard_path()
        return pylint.__version__

    def answer_check(self, params):
        complaint, messages = self.check(params["path"])
        keys = ["symbol", "line", "column", "endLine", "endColumn"]
        return {"complaint": complaint, "messages": [[message[key] for key in keys] for message in messages]}

    def check(self, path):
        report, complaint = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stderr(complaint):
                self.run([*ARGUMENTS, "--", path], reporter=self.reporter(report), exit=False)
        except SystemExit as end:
            raise RuntimeError(f"pylint ended with status {end.code}: {complaint.getvalue()}") from None
        return complaint.getvalue().strip(), json.loads(report.getvalue() or "[]")


if __name__ == "__main__":
    serve(Worker)
