"""The loop around a function in Python: python3 function.py main.py ../shared

Modules are looked for in the folder of the author's file, in its vendor/, in the further folders that are named, and then where
Python itself looks.

It reads requests from descriptor 4, calls reconcile(request) or finalize(request) of the author's file, and writes each
answer with the request's id to descriptor 3. Whatever else the process writes, or a library or a child of it, is log.
"""

import contextlib
import json
import os
import sys
import traceback
import types

LONGEST_TEXT = 2000

VENDOR = "vendor"

# The author's folder. The function may choose another working directory, which may be gone when it fails.
FOLDER = os.getcwd()

# Where modules are looked for after the folder of the author's file, which takes the place of this file's.
FURTHER = [os.path.abspath(folder) for folder in [VENDOR, *sys.argv[2:]] if os.path.isdir(folder)]
sys.path[1:1] = FURTHER


class Refused(Exception):
    """Something is wrong with the author's file or its answer. The message is worded for the author."""


def take_over_descriptors():
    """Keeps the requests and the answers to this loop: children of the process do not inherit these two descriptors."""
    requests = os.fdopen(os.dup(4), "rb")
    answers = os.fdopen(os.dup(3), "wb")
    os.close(4)
    os.close(3)
    os.dup2(2, 1)
    # As in standard error: no text that is printed makes the function fail.
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    return requests, answers


def load(file):
    """Runs the author's file as Python would, except that __name__ is not "__main__"; no bytecode is kept."""
    path = os.path.normpath(os.path.join(FOLDER, file))
    sys.path[0] = os.path.dirname(path)
    sys.argv = [file]
    name = os.path.splitext(os.path.basename(path))[0]
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    with open(path, "rb") as source:
        code = compile(source.read(), path, "exec")
    exec(code, module.__dict__)
    function_of(module, "reconcile", file)
    return module


def function_of(module, event, file):
    function = getattr(module, event, None)
    if not callable(function):
        raise Refused(f"{file} has no function {event}(request). Define it: def {event}(request): ...")
    return function


def answer_of(module, request, file):
    event = request["event"]
    answer = function_of(module, event, file)(request)
    # As `await` itself finds out. The module "inspect" would take a quarter of the time in which this process starts.
    if hasattr(type(answer), "__await__"):
        answer = awaited(answer)
    if not isinstance(answer, dict):
        key = "finalized" if event == "finalize" else "children"
        raise Refused(f'{file}: {event} returned {named(answer)}, not a dict. Return, for example, {{"{key}": ...}}')
    return answer


def named(value):
    return "None" if value is None else f"a value of type {type(value).__name__}"


event_loop = None


def awaited(awaitable):
    """One event loop for all requests, so that an async library can use its connections again."""
    import asyncio

    global event_loop
    if event_loop is None:
        event_loop = asyncio.new_event_loop()
        asyncio.set_event_loop(event_loop)

    async def wait():
        return await awaitable

    return event_loop.run_until_complete(wait())


def line_of(answer, request_id, file):
    try:
        return json.dumps({**answer, "id": request_id}, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        place = ""
        # A value that contains itself has no innermost part.
        with contextlib.suppress(RecursionError):
            place = ".".join(str(step) for step in place_in(answer))
        problem = f"{place}: {error}" if place else error
        raise Refused(f"{file}: the answer cannot be written as JSON: {problem}") from error


def place_in(value):
    """The path of the innermost part that JSON does not have. Empty if the value itself is at fault."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for step, part in parts:
        try:
            json.dumps(part, allow_nan=False)
        except (TypeError, ValueError):
            return [step, *place_in(part)]
    return []


def message_of(error, file):
    """The error's text, after the innermost line of the author's own files: "main.py:12 in reconcile: KeyError: 'size'"."""
    if isinstance(error, Refused):
        return str(error)
    lines = traceback.format_exception_only(type(error), error)
    if isinstance(error, SyntaxError):
        return f"{relative(error.filename) or file}:{error.lineno}: {lines[-1].strip()}"
    text = "".join(lines).strip()
    if isinstance(error, ModuleNotFoundError):
        text += ". Install it into vendor/ in the operator's folder, or correct its name"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        name = relative(frame.filename)
        if name:
            place = f"{name}:{frame.lineno}" + ("" if frame.name == "<module>" else f" in {frame.name}")
            return f"{place}: {text}"
    return f"{file}: {text}"


def relative(filename):
    """The path of one of the author's files, relative to the author's folder; None for any other file."""
    path = os.path.normpath(os.path.join(FOLDER, filename or ""))
    name = os.path.relpath(path, FOLDER)
    of_others = "site-packages" in name or name.startswith(VENDOR + os.sep)
    included = any(path.startswith(folder + os.sep) for folder in FURTHER)
    own = (included or not name.startswith(os.pardir + os.sep)) and not of_others and os.path.isfile(path)
    return name if own else None


def write(answers, line):
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
    answers.write(line.encode() + b"\n")
    answers.flush()


def error_line(error, request_id, file):
    if not isinstance(error, Refused):
        traceback.print_exception(type(error), error, without_loop(error.__traceback__))
    return json.dumps({"id": request_id, "error": {"message": message_of(error, file)[:LONGEST_TEXT]}})


def without_loop(trace):
    """The traceback from the author's first line on. None if the author's file could not be read at all."""
    while trace and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def main(file):
    requests, answers = take_over_descriptors()
    module = None
    # Before it is asked, so that the first answer is not late. What fails now fails again when it is asked.
    with contextlib.suppress(Exception):
        module = load(file)
    for line in requests:
        request = json.loads(line)
        # The function may change its request.
        request_id = request["id"]
        try:
            module = module or load(file)
            answer = line_of(answer_of(module, request, file), request_id, file)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # Not only an Exception: asyncio.CancelledError is none.
            answer = error_line(error, request_id, file)
        write(answers, answer)


# Processes that begin by "spawn" or "forkserver" of multiprocessing run this file too, under another name.
if __name__ == "__main__":
    main(sys.argv[1])
