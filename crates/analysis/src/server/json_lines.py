"""Serves requests of Retort: JSON-RPC, one message a line."""

import json
import resource
import sys


def serve(make_worker):
    """Answers each request with the worker's method `answer_METHOD`, within the memory that the command line allows."""
    limit = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    # What a tool or a module it looks at might print is no message.
    answers, sys.stdout = sys.stdout, sys.stderr
    worker = make_worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": getattr(worker, "answer_" + request["method"])(request["params"])}
        except Exception as error:
            answer = {"error": {"message": f"{type(error).__name__}: {error}"}}
        answers.write(json.dumps({"id": request["id"], **answer}) + "\n")
        answers.flush()


def standard_path():
    """Returns where the standard library is found, but neither the tool nor anything else that is installed beside it."""
    return [path for path in sys.path[1:] if not {"site-packages", "dist-packages"} & set(path.split("/"))]
