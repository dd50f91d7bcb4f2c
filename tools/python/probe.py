# Run once in the sandbox, before anybody's code is. It prints what is wrong with
# the sandbox, one thing a line, or "fine"; and it leaves matplotlib's list of
# fonts in the working folder, which takes a second to make.
import os
import shutil
import socket

with open("/proc/self/status") as f:
    status = {k: v.strip() for k, v in (line.split(":", 1) for line in f.read().splitlines())}
with open("/proc/net/dev") as f:
    interfaces = [line.split(":")[0].strip() for line in f.read().splitlines() if ":" in line]
with open("/proc/self/limits") as f:
    limits = f.read()


def refused(what, *arguments):
    try:
        what(*arguments)
    except OSError:
        return True
    return False


wrong = {
    "it has a network": interfaces != ["lo"] or not refused(socket.create_connection, ("192.0.2.1", 80), 1),
    "it has capabilities": any(int(status[k], 16) for k in ("CapPrm", "CapEff", "CapBnd", "CapAmb")),
    "its system calls are not filtered": status["Seccomp"] != "2" or not refused(os.memfd_create, "x"),
    "it can gain privileges": status["NoNewPrivs"] != "1" or os.getuid() == 0,
    "it has no limit on processes": limits.split("Max processes")[1].split()[1] not in map(str, range(1, 1000)),
    "it can write to the system": not all(refused(open, d + "/nod-probe", "w") for d in ("", "/usr", "/dev", "/etc")),
    "it sees files of this machine": any(os.path.exists(p) for p in ("/etc/passwd", "/home", "/root", "/var", "/sys")),
    "it sees processes of this machine": os.getppid() != 1 or len([p for p in os.listdir("/proc") if p.isdigit()]) > 2,
    "it has an environment": bool(os.environ.keys() - {"PATH", "HOME", "LANG", "TZ", "PWD", "MPLBACKEND", "MPLCONFIGDIR", "OPENBLAS_NUM_THREADS"}),
}

import matplotlib.font_manager
import matplotlib.pyplot
import numpy
import pandas

for name in os.listdir(os.environ["MPLCONFIGDIR"]):
    shutil.copy(f"{os.environ['MPLCONFIGDIR']}/{name}", name)
print("\n".join(k for k, v in wrong.items() if v) or "fine")
