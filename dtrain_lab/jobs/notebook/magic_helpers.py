"""Functions of a job's script that do what magics do in a notebook."""

from __future__ import annotations

_HELPERS = {
    "run": '''\
def _run(awaitable):
    """In place of a notebook's top-level await."""
    import asyncio

    global _loop
    if "_loop" not in globals():
        _loop = asyncio.new_event_loop()
        asyncio.set_event_loop(_loop)
    async def wait():
        return await awaitable
    return _loop.run_until_complete(wait())
''',
    "run_file": '''\
def _run_file(path, arguments, inside=False):
    """In place of a notebook's %run: a program with arguments, whose names the notebook gets."""
    import runpy
    import sys

    before, sys.argv = sys.argv, [path, *arguments]
    try:
        if inside:  # %run -i: among the notebook's names
            exec(compile(open(path).read(), path, "exec", dont_inherit=True), globals())
        else:
            made = runpy.run_path(path, run_name="__main__")
            globals().update({name: made[name] for name in made if not name.startswith("__")})
    except SystemExit as leaving:
        if leaving.code:
            raise
    finally:
        sys.argv = before
''',
    "once": '''\
def _once(work):
    """Have the first rank of a node that comes here do something; its others wait until that is done."""
    import re
    import sys
    import time

    elastic = os.environ.get("TORCHELASTIC_ERROR_FILE")  # torchrun's, in a folder of each rank
    folder = os.environ.get("DTRAIN_JOB") or (elastic and os.path.dirname(os.path.dirname(elastic)))
    if not folder:  # nothing that ranks of one run share, and no other run
        return work() if local_rank == 0 else None
    caller = sys._getframe(2)
    place = re.sub(r"\\W+", "_", f"{os.path.basename(caller.f_code.co_filename)}_{caller.f_lineno}")
    _once.times[place] = _once.times.get(place, 0) + 1
    attempt = os.environ.get("DTRAIN_ATTEMPT", "0")
    mark = f"{folder}/.once.{attempt}.{rank - local_rank}.{place}.{_once.times[place]}"
    until = time.monotonic() + (1.0 if local_rank else 0.0)  # if the first rank comes, it is its own
    while not os.path.exists(mark) and time.monotonic() < until:
        time.sleep(0.01)
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        while not os.path.exists(mark + ".done"):
            time.sleep(0.05)
        return
    except OSError:  # a full disk
        return work() if local_rank == 0 else None
    try:
        work()
    finally:
        open(mark + ".done", "w").close()

_once.times = {}
''',
    "expanded": '''\
def _expanded(text, names):
    """Fill in {expression} and $name, as a notebook does: all of them, or none where one has no value."""
    import re
    import string

    def value(expression):
        return eval(expression, dict(names))

    def named(match):  # $$name stands for $name
        return match[1] if match[1].startswith("$") else str(value(match[1]))

    formatter, made = string.Formatter(), []
    try:
        for plain, field, rest, conversion in formatter.parse(text):
            # not between single quotes
            made.append(re.sub(r"\\$(\\$?[\\w.]+)(?=([^']*'[^']*')*[^']*$)", named, plain))
            if field is not None:  # what follows a colon is of a slice
                found = value(f"{field}:{rest}" if rest else field)
                made.append(format(formatter.convert_field(found, conversion)))
    except Exception:  # it is the shell's own
        return text
    return "".join(made)
''',
    "process": '''\
def _process(command, text="", shell=False):
    """Run a program that reads a text, show its output, and return its exit code."""
    import subprocess
    import threading

    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, shell=shell, **streams)

    def copy():
        with process.stdout:  # as bytes: text would make a line of each turn of a progress bar
            for line in process.stdout:
                print(line.decode(errors="replace"), end="")

    reader = threading.Thread(target=copy, daemon=True)
    reader.start()
    try:
        process.stdin.write(text.encode())
        process.stdin.close()
    except BrokenPipeError:  # it doesn't read
        pass
    code = process.wait()
    reader.join(0.5)  # what it leaves in the background keeps its output open
    return code
''',
    "shell": '''\
def _shell(command, captures=False):
    """In place of a notebook's !command: once on each node, unless its output is wanted."""
    import subprocess

    if captures:
        return subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    _once(lambda: _process(command, shell=True))
''',
    "script": '''\
def _script(command, text, raises=True):
    """In place of a notebook's %%script, which %%bash is, too: once on each node."""
    import shlex
    import subprocess

    def run():
        code = _process(shlex.split(command), text)
        if code and raises:
            raise subprocess.CalledProcessError(code, command)

    _once(run)
''',
    "write_file": '''\
def _write_file(path, text, append=False):
    """In place of a notebook's %%writefile: once on each node."""

    def write():
        with open(os.path.expanduser(path), "a" if append else "w") as file:
            file.write(text)

    _once(write)
''',
}
_NEEDS = {
    "shell": ("once", "process"),
    "script": ("once", "process"),
    "write_file": ("once",),
}


def code(names: frozenset[str]) -> list[str]:
    """Return the definitions of helpers, and of those that they call.

    Args:
        names: helpers that the cells call, without their "_".
    """
    wanted = names.union(*(_NEEDS.get(name, ()) for name in names))
    return [text for name, text in _HELPERS.items() if name in wanted]
