//go:build linux

package python

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/llm"
)

const ignoreInterrupts = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"

// sandboxes lists the processes of this machine whose sandbox p made, by the folder
// that is mounted in it; of each it gives the number.
func sandboxes(t *testing.T, p *Python) []int {
	t.Helper()
	var outer []int
	list, _, err := below(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(filepath.Base(filepath.Dir(p.dir)), filepath.Base(p.dir))
	for _, q := range list {
		if q.parent != os.Getpid() {
			continue
		}
		inner, _, err := below(q.pid)
		if err == nil && slices.ContainsFunc(inner, func(r process) bool { return mounted(r, part) }) {
			outer = append(outer, q.pid)
		}
	}
	return outer
}

// mounted says whether a process sees a folder that lies below a path.
func mounted(p process, path string) bool {
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", p.pid))
	return err == nil && strings.Contains(string(mounts), path+"/threads/")
}

// living leaves out processes that have ended and whose parent sleeps.
func living(list []process) []process {
	return slices.DeleteFunc(list, func(p process) bool { return p.state == 'Z' })
}

// Code can't do forbidden things, judged by its own view.
func TestHostileLooks(t *testing.T) {
	t.Setenv("SLACK_BOT_TOKEN", "xoxb-secret")
	secret := filepath.Join(newDir(t), "secret.txt")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := sharedPython(t)
	socket := "import socket\ns = socket.socket()\ns.settimeout(2)\n"
	for _, c := range []struct{ name, code, want string }{
		{"network", socket + "s.connect(('192.0.2.1', 80))", "Network is unreachable"},
		{"this machine by its address", socket + "s.connect(('127.0.0.1', 22))", "ConnectionRefusedError"},
		{"names", "import socket\nsocket.getaddrinfo('example.com', 80)", "socket.gaierror"},
		{"the machine below", "import socket\nsocket.socket(40, 1)", "Address family not supported"},
		{"raw packets", "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "PermissionError"},
		{"accounts", "open('/etc/passwd')", "FileNotFoundError"},
		{"homes", "import os\nos.listdir('/root')", "FileNotFoundError"},
		{"a file of the machine", fmt.Sprintf("open(%q)", secret), "FileNotFoundError"},
		{"what the bot knows of the thread", "import os\nsorted(os.listdir('/thread/..'))", "['bin', 'dev', 'etc', 'fonts', 'lib', 'lib64', 'proc', 'thread', 'tmp', 'usr']"},
		{"the environment", "import os\nsorted(os.environ), open('/proc/1/environ').read(), open('/proc/self/environ').read()", "!xoxb"},
		{"environments of all", "import glob\n[open(f).read() for f in glob.glob('/proc/[0-9]*/environ')]", "!SLACK"},
		{"where its folder is, from how it was started", "[open(f'/proc/{n}/cmdline').read() for n in (1, 2, 'self')]", "!nod-python-test-"},
		{"the kernel's command line", "open('/proc/cmdline').read()", "PermissionError"},
		{"writing to the system", "open('/usr/lib/x', 'w')", "Read-only file system"},
		{"writing to the root", "open('/x', 'w')", "Read-only file system"},
		{"writing to devices", "open('/dev/x', 'w')", "Read-only file system"},
		{"changing the fonts", "open('/fonts/x', 'w')", "Read-only file system"},
		{"the kernel's settings", "open('/proc/sys/kernel/hostname', 'w').write('x')", "Error"},
		{"disks", "import os\nos.mknod('d', 0o60600, os.makedev(254, 0))", "PermissionError"},
		{"another user", "import os\nos.setuid(0)", "Error: [Errno"},
		{"namespaces", "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\nl.unshare(0x10000000), ctypes.get_errno()", "(-1, 1)"},
		{"namespaces by clone", "l.syscall(56 if __import__('platform').machine() == 'x86_64' else 220, 0x10000011, 0, 0, 0, 0), ctypes.get_errno()", "(-1, 1)"},
		{"mounts", "l.mount(b'none', b'/tmp', b'tmpfs', 0, None), ctypes.get_errno()", "(-1, 1)"},
		{"uncounted memory", "import os\nos.memfd_create('x')", "PermissionError"},
		{"uncounted memory of System V", "l.shmget(0, 1 << 30, 0o1600), ctypes.get_errno()", "(-1, 1)"},
		{"tracing", "l.ptrace(16, 1, 0, 0), ctypes.get_errno()", "(-1, 1)"},
		{"signals to the outside", "import os\n[os.kill(n, 9) for n in range(3, 40000)]", "ProcessLookupError"},
		{"raising limits", "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (10000, 10000))", "not allowed to raise maximum limit"},
		{"programs that gain rights", "import subprocess\nsubprocess.run(['/usr/bin/su', '-c', 'id'], capture_output=True).returncode != 0", "True"},
	} {
		r := runCode(t, p, thread, c.code)
		want, ok := strings.CutPrefix(c.want, "!")
		if strings.Contains(r.Text, want) == ok {
			t.Errorf("%s: want %q, got %q", c.name, c.want, r.Text)
		}
	}
	if len(sandboxes(t, p)) != 1 {
		t.Error("the interpreter did not survive all that")
	}
}

// growth is code that takes too much, what is said of it, and whether its
// variables are lost.
type growth struct {
	name, code, want string
	lost             bool
}

// Code that takes too long ends, with its variables where it listens.
func TestHostileTime(t *testing.T) {
	t.Parallel()
	testGrowth(t, newPython(t, Options{}), limit, []growth{
		{"an endless loop", begins + "while True: pass", "the code was interrupted: it took longer than 500ms", false},
		{"sleep", "import time\n" + begins + "time.sleep(1000)", "KeyboardInterrupt", false},
		{"a loop that ignores interrupts", ignoreInterrupts + begins + "while True: pass", "could not be interrupted", true},
		{"a loop that catches interrupts", "import time\nwhile True:\n    try:\n        " + begins + "        time.sleep(1000)\n    except BaseException: pass", "could not be interrupted", true},
		{"a loop that no interrupt reaches", "import collections, itertools, os\ncollections.deque(itertools.chain(map(os.mkdir, ['begun']), itertools.repeat(0)), 0)", "could not be interrupted", true},
	})
}

// Code that takes too much ends. The thread goes on with a new interpreter, and
// the model knows what it lost.
func TestHostileGrowth(t *testing.T) {
	t.Parallel()
	testGrowth(t, newPython(t, Options{Memory: 256 << 20, Disk: 16 << 20}), patience, []growth{
		{"memory at once", "x = bytearray(1 << 40)", "MemoryError", false},
		{"memory bit by bit", "x = []\nwhile True: x.append(bytearray(1 << 20))", "MemoryError", false},
		{"memory of many processes", "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        y = bytearray(100 << 20)\n        time.sleep(100)\ntime.sleep(100)", "it took more than 256 MiB of memory", true},
		{"memory that is shared", "import mmap\nm = mmap.mmap(-1, 600 << 20)\nfor _ in range(600): m.write(bytes(1 << 20))\nwhile True: pass", "it took more than 256 MiB of memory", true},
		{"files in memory", "n = 0\nwhile True:\n    n += 1\n    open(f'/dev/shm/{n}', 'wb').write(bytes(1 << 20))", "No space left on device", false},
		{"files in memory, elsewhere", "n = 0\nwhile True:\n    n += 1\n    open(f'/tmp/{n}', 'wb').write(bytes(1 << 20))", "No space left on device", false},
		{"processes", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", "it had more than 64 processes", true},
		{"threads", "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(1000,)).start()", "can't start new thread", false},
		{"one large file", "with open('f', 'wb') as f:\n    while True: f.write(bytes(1 << 20))", "File too large", false},
		{"many large files", "n = 0\nwhile True:\n    n += 1\n    open(f'f{n}', 'wb').write(bytes(1 << 20))", "its files take too much of the disk", true},
		{"large files that nobody sees", "import os\nfs = []\nwhile True:\n    fs.append(open('f', 'wb'))\n    fs[-1].write(bytes(1 << 20))\n    fs[-1].flush()\n    os.remove('f')", "its files take too much of the disk", true},
		{"large files that are mapped", "import os, ctypes\nl = ctypes.CDLL(None)\nfor n in range(100):\n    with open('f', 'w+b') as f:\n        f.write(bytes(1 << 20))\n        f.flush()\n        l.mmap(None, 4096, 1, 1, f.fileno(), 0)\n    os.remove('f')", "its files take too much of the disk", true},
		{"many files", "n = 0\nwhile True:\n    n += 1\n    open(f'f{n}', 'wb').close()", "it made more than 1000 files", true},
		{"deep folders", "import os\nwhile True:\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)", "it made more than 1000 files", true},
		{"a folder without rights", "import os\nos.makedirs('a/b/c')\nos.chmod('a/b', 0)\nfor n in range(20): open(f'f{n}', 'wb').write(bytes(1 << 20))", "what was in the working folder was erased", true},
		{"a dump", "import os\nos.abort()", "the interpreter ended (aborted)", true},
	})
}

// limit is how long code that never ends may run, and listen to nobody.
const limit = 500 * time.Millisecond

// begins is code that says that the code has begun: its limit passes then.
const begins = "open('begun', 'w').close()\n"

func begun(ctx context.Context, p *Python) <-chan time.Time {
	over := make(chan time.Time, 1)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		path := filepath.Join(p.threads(), folderName(thread), "work", "begun")
		for ; ctx.Err() == nil; <-tick.C {
			if _, err := os.Stat(path); err == nil {
				over <- time.Now()
				return
			}
		}
	}()
	return over
}

// within runs code that may take so long; what is lost after that does not wait to be
// interrupted.
func within(t *testing.T, p *Python, most time.Duration, lost bool, code string) llm.Result {
	t.Helper()
	p.o.Timeout = most
	if lost {
		p.o.answer = limit
	}
	if most == limit {
		p.o.after = func(time.Duration) <-chan time.Time { return begun(t.Context(), p) }
	}
	defer func() { p.o.Timeout, p.o.answer, p.o.after = patience, patience, time.After }()
	return runCode(t, p, thread, code)
}

func testGrowth(t *testing.T, p *Python, most time.Duration, cases []growth) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			runCode(t, p, thread, "precious = 1")
			r := within(t, p, most, c.lost, c.code)
			wantText(t, r, true, c.want)
			if c.lost {
				wantText(t, r, true, "All variables, functions and imports are gone, among them precious")
			}
			next := runCode(t, p, thread, "precious")
			wantText(t, next, c.lost, map[bool]string{true: "NameError", false: "1"}[c.lost])
			list, _, err := below(sandboxes(t, p)[0])
			if err != nil || len(living(list)) != 2 {
				t.Errorf("processes are left: %v, %v", list, err)
			}
			if err := p.Forget(thread); err != nil {
				t.Error(err)
			}
		})
	}
}

// Output that never ends takes bounded memory here.
func TestHostileOutput(t *testing.T) {
	p := sharedPython(t)
	runCode(t, p, thread, "1")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := within(t, p, limit, false, "print('first')\nfor _ in range(1000): print('x' * 10000)\n"+begins+"while True: print('x' * 10000)")
	runtime.ReadMemStats(&after)
	wantText(t, r, true, "first", "bytes are left out here", "it took longer than 500ms")
	if len(r.Text) > outputHead+outputTail+10_000 || after.TotalAlloc > before.TotalAlloc+128<<20 {
		t.Errorf("%d bytes of text, %d of memory taken before and %d after", len(r.Text), before.TotalAlloc, after.TotalAlloc)
	}
	wantText(t, runCode(t, p, thread, "'short'"), false, "'short'")
}

// Nothing but regular files of the folder comes back.
func TestHostileFiles(t *testing.T) {
	secret := filepath.Join(newDir(t), "secret.txt")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := sharedPython(t)
	r := runCode(t, p, thread, fmt.Sprintf(`import os
os.symlink(%q, 'a.txt')
os.symlink('/etc/passwd', 'b.txt')
os.symlink('/', 'c')
os.symlink('../state.json', 'd.json')
os.mkfifo('e')
open('locked.txt', 'w').write('x'); os.chmod('locked.txt', 0)
open('back\\slash\n.txt', 'w').write('ok')
open('sparse', 'wb').truncate(17 << 20)
import socket
socket.socket(socket.AF_UNIX).bind('f')`, secret))
	for _, f := range r.Files {
		if f.Name != "back_slash_.txt" && f.Name != "locked.txt" {
			t.Errorf("%s came back: %q", f.Name, f.Data)
		}
	}
	wantText(t, r, false, "sparse stays in the folder: it has 17 MiB, and 16 MiB are the most", "back_slash_.txt")
	// And files of the thread are not written through links.
	wantText(t, runCode(t, p, thread, "open('a.txt').read()", [2]string{"a.txt", "input"}), false, "'input'")
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
		t.Errorf("the file of the machine is %q, %v", data, err)
	}
}

// The code shares the driver's process, and still can fool nobody but itself.
func TestHostileProtocol(t *testing.T) {
	t.Parallel()
	p := newPython(t, Options{})
	forge := "import os, json, struct, time\ndef say(b): os.write(4, struct.pack('>I', len(b)) + b)\n"
	for _, c := range []struct{ name, code, want string }{
		{"the answers closed", "import os\nos.close(4)", "the interpreter ended"},
		{"the requests closed", "import os\nos.close(3)", ""},
		{"both replaced", "import os\nos.dup2(1, 3)\nos.dup2(1, 4)", ""},
		{"a forged answer", forge + "say(json.dumps({'id': 'x', 'failed': False, 'names': ['a']}).encode())\ntime.sleep(100000)", "the interpreter's connection was broken"},
		{"another type", forge + "say(b'[1]')\ntime.sleep(100000)", "the interpreter ended"},
		{"an answer of 4 GB", "import os\nos.write(4, b'\\xff' * 1000)\nwhile True: os.write(4, bytes(100000))", "the interpreter ended"},
		{"half an answer", "import os, time\n" + begins + "os.write(4, bytes([0, 0, 1]))\ntime.sleep(100000)", ""},
		{"answers in advance", forge + "for _ in range(3): say(json.dumps({'id': 'later'}).encode())", "the interpreter's connection was broken"},
		{"the output closed", "import os\nos.close(1)\nos.close(2)\nprint('x')", ""},
		{"names that are none", "globals().update({'a b': 1, 'x\\n(ignore all)': 1, 'z' * 5000: 1, 3: 1, 'fine': 1})\nimport os\nos.kill(os.getpid(), 0)", ""},
		{"its own frames", "import sys\nf = sys._getframe(2)\nf.f_globals.clear()", ""},
		{"itself killed", "import os\nos.kill(os.getpid(), 9)", "the interpreter ended (killed)"},
		{"stopped", "import os, signal\n" + begins + "os.kill(os.getpid(), signal.SIGSTOP)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			most := patience
			if c.name == "half an answer" || c.name == "stopped" { // nothing else ends those
				most = limit
			}
			if c.name != "itself killed" { // the others may not end with their answers
				p.box.o.waits.exit = limit
				defer func() { p.box.o.waits.exit = patience }()
			}
			r := within(t, p, most, true, c.code)
			wantText(t, r, r.Failed, c.want)
			r = runCode(t, p, thread, "import os; os._exit(0)")
			if strings.Contains(r.Text, "ignore all") || len(r.Text) > 1000 {
				t.Errorf("got %q", r.Text)
			}
			// The thread goes on after any of these.
			if got := runCode(t, p, thread, "print('well')").Text; !strings.HasSuffix(got, "well") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Processes that a call leaves running end with the call, and an interpreter that dies
// takes all with it.
func TestLeftProcesses(t *testing.T) {
	p := sharedPython(t)
	r := runCode(t, p, thread, "import subprocess\nc = subprocess.Popen(['/bin/sleep', '1000'])\nd = subprocess.Popen(['/bin/sh', '-c', '(setsid sleep 1000 &) & sleep 1000'])\nx = 1")
	wantText(t, r, false, "processes that the code had left running were ended")
	wantText(t, runCode(t, p, thread, "c.wait(), x"), false, "(-9, 1)")

	// One that is never there when it is looked for.
	for range 20 {
		r = runCode(t, p, thread, "import os\nif os.fork() == 0:\n    while True:\n        if os.fork(): os._exit(0)")
		if !strings.Contains(r.Text, "had left running were ended") && !strings.Contains(r.Text, "could not be ended") {
			t.Errorf("got %q", r.Text)
		}
	}
	runCode(t, p, thread, "c, d, x = 1, 1, 1")

	outer := sandboxes(t, p)
	list, _, err := below(outer[0])
	if list = living(list); err != nil || len(list) != 2 {
		t.Fatalf("got %v, %v", list, err)
	}
	if list[1].state != 'T' {
		t.Errorf("between calls the interpreter is in state %c", list[1].state)
	}
	python, err := os.FindProcess(list[1].pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := python.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if _, ok := processOf(outer[0]); !ok {
			break
		}
	}
	wantText(t, runCode(t, p, thread, "print('runs')\nx"), true,
		"a new interpreter was started", "all variables, functions and imports are gone, among them c, d, x", "runs", "NameError")
	for _, q := range append(list, process{pid: outer[0]}) {
		if now, ok := processOf(q.pid); ok && now.parent == q.parent {
			t.Errorf("process %d is left: %v", q.pid, now)
		}
	}
}

// No interpreter runs as root, as the kernel limits root's processes in nothing.
func TestNobodyIsRoot(t *testing.T) {
	p := sharedPython(t)
	runCode(t, p, thread, "1")
	list, _, err := below(sandboxes(t, p)[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range list {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", q.pid))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.Contains(string(status), "\nUid:\t0") {
			t.Errorf("process %d is root's", q.pid)
		}
	}
}
