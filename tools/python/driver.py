# The inside of the interpreter: it takes code from one pipe, runs it, and says
# on another how that ended. What the code prints goes to a third, which is
# standard output. The code shares this process and can do all that this file
# can, so nothing here guards anything: the sandbox around the process does, and
# whoever reads the answers believes none of them.
import ast
import importlib.abc
import importlib.util
import json
import linecache
import os
import shutil
import signal
import struct
import sys
import traceback
import types
import warnings

REQUESTS, ANSWERS, WORK = 3, 4, "/thread"
NAMES = 40  # of variables in an answer
ERROR = 16 << 10  # characters of an error in an answer

running = False
user = types.ModuleType("__main__")


def interrupt(*_):
    if running:
        raise KeyboardInterrupt


def receive():
    (size,) = struct.unpack(">I", receive_bytes(4))
    return json.loads(receive_bytes(size))


def receive_bytes(size):
    data = b""
    while len(data) < size:
        piece = os.read(REQUESTS, size - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data


def send(answer):
    data = json.dumps(answer).encode()
    data = struct.pack(">I", len(data)) + data
    while data:
        data = data[os.write(ANSWERS, data) :]


def run(source, name):
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    tree = ast.parse(source, name)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, name, "exec"), user.__dict__)
    if last is not None:
        value = eval(compile(last, name, "eval"), user.__dict__)
        if value is not None:
            user.__dict__["_"] = value
            print(repr(value))
    show()


def show(*_, **__):
    """What plt.show() does here: every open figure becomes a file."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None:
        return
    try:
        for number in plt.get_fignums():
            plt.figure(number).savefig(free_name(), bbox_inches="tight")
    finally:
        plt.close("all")


def free_name():
    n = 1
    while os.path.lexists(f"{WORK}/plot-{n}.png"):
        n += 1
    return f"{WORK}/plot-{n}.png"


class Pyplot(importlib.abc.MetaPathFinder):
    """Puts show into pyplot when the code imports it, and not before: that takes
    half a second."""

    def find_spec(self, name, path, target=None):
        if name != "matplotlib.pyplot":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            module.show = show

        spec.loader.exec_module = exec_module
        return spec


def explain(error):
    """The error as the code's author wants it: without the frames of this file and
    of libraries."""
    try:
        lines = traceback.format_exception_only(type(error), error)
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith("<call ")]
        if frames:
            lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames), *lines]
        text = "".join(lines)
    except BaseException:
        text = type(error).__name__
    if len(text) > ERROR:
        text = text[: ERROR // 2] + "\n[…]\n" + text[-ERROR // 2 :]
    return text.encode("utf-8", "replace").decode()


def perform(source, name):
    """Gives what went wrong, or nothing."""
    global running
    try:
        try:
            running = True
            run(source, name)
        finally:
            running = False
    except SystemExit as error:
        return "" if error.code in (None, 0) else explain(error)
    except BaseException as error:
        return explain(error)
    return ""


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass


def names():
    try:
        found = [
            k
            for k, v in user.__dict__.items()
            if isinstance(k, str) and k[:1] != "_" and not isinstance(v, types.ModuleType)
        ]
    except BaseException:
        return []
    return [k[:100] for k in found[:NAMES]]


def main():
    for fd in (1, REQUESTS, ANSWERS):
        os.set_blocking(fd, True)
    for fd in (REQUESTS, ANSWERS):
        os.set_inheritable(fd, False)
    with open("/proc/self/oom_score_adj", "w") as f:
        f.write("1000")  # when the machine runs out of memory, this goes first
    os.makedirs(os.environ["MPLCONFIGDIR"])
    for font_list in os.listdir("/fonts"):
        shutil.copy(f"/fonts/{font_list}", os.environ["MPLCONFIGDIR"])
    sys.stdout.reconfigure(line_buffering=True, errors="replace")
    sys.stderr.reconfigure(errors="replace")
    sys.path.append(WORK)
    sys.argv = [""]
    sys.meta_path.insert(0, Pyplot())
    sys.modules["__main__"] = user
    warnings.filterwarnings("ignore", message=".*(non-GUI backend|non-interactive).*")
    signal.signal(signal.SIGINT, interrupt)
    send({"id": "ready"})
    count = 0
    while True:
        request = receive()
        count += 1
        signal.signal(signal.SIGINT, interrupt)
        os.chdir(WORK)
        error = perform(request["code"], f"<call {count}>")
        flush()
        send({"id": request["id"], "failed": error != "", "error": error, "names": names()})


main()
