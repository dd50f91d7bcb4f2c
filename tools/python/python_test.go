//go:build linux

package python

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"nod/chat"
	"nod/internal/parallel"
	"nod/internal/tooltest"
	"nod/llm"
	"nod/tools"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("NOD_TEST_PYTHON_DIR"); dir != "" {
		os.Exit(beKilled(dir))
	}
	goleak.VerifyTestMain(closing{m})
}

// closing runs the tests, and ends what they share.
type closing struct{ *testing.M }

func (c closing) Run() int {
	parallel.Each(4)
	code := c.M.Run()
	if shared.p != nil && shared.p.Close() != nil || shared.dir != "" && erase(shared.dir) != nil {
		return 1
	}
	return code
}

// shared is one Python for the tests that need none of their own: to try out a sandbox
// takes as long as most of them.
var shared struct {
	dir string
	p   *Python
}

// sharedPython gives it, with no thread in it.
func sharedPython(t *testing.T) *Python {
	t.Helper()
	if shared.p == nil {
		var err error
		if shared.dir, err = makeDir(); err != nil {
			t.Fatal(err)
		}
		shared.p = started(t, Options{Dir: shared.dir})
	}
	t.Cleanup(func() {
		for n := range 2 {
			if err := errors.Join(shared.p.Forget(thread), shared.p.Forget(otherThread(n))); err != nil {
				t.Error(err)
			}
		}
	})
	return shared.p
}

// beKilled is a bot that runs code until it is killed. It says when it does.
func beKilled(dir string) int {
	p, err := New(context.Background(), Options{Dir: dir, Timeout: patience, Memory: 512 << 20, waits: long})
	if err == nil {
		args := json.RawMessage(`{"code":"import os, subprocess; subprocess.Popen(['/bin/sleep', '1000'])\nprint(1)\nopen('begun', 'w').close()\nwhile True: pass"}`)
		_, err = p.Tool().Run(context.Background(), tools.Input{Desk: chat.Desk{Thread: thread}, Args: args})
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// newPython makes the tool over the real sandbox. A machine whose kernel forbids
// sandboxes can't run these tests, and nothing else excuses from them.
func newPython(t *testing.T, o Options) *Python {
	t.Helper()
	if o.Dir == "" {
		o.Dir = newDir(t)
	}
	p := started(t, o)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// patience is how long a test that fails waits, and no other.
const patience = 10 * time.Minute

// long is for slow machines.
var long = waits{patience, patience, patience, patience, patience, 100_000}

// started makes a Python that waits for slow machines.
func started(t *testing.T, o Options) *Python {
	t.Helper()
	o.Timeout, o.Memory = stdcmp.Or(o.Timeout, patience), stdcmp.Or(o.Memory, 512<<20)
	o.answer = stdcmp.Or(o.answer, patience)
	o.waits = stdcmp.Or(o.waits, long)
	p, err := New(t.Context(), o)
	if err != nil && slices.ContainsFunc(forbidden, func(f string) bool { return strings.Contains(err.Error(), "does not start ("+f) }) {
		t.Skipf("SANDBOX NOT TESTED: this machine's kernel forbids it: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// forbidden are the beginnings of bwrap's messages where the kernel forbids namespaces.
var forbidden = []string{
	"bwrap: No permissions to create", "bwrap: Creating new namespace failed", "bwrap: setting up uid map: Permission denied",
	"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "bwrap: Can't mount proc", "bwrap: Failed to make / slave",
}

// makeDir makes a folder that the sandbox's user can enter, which t.TempDir is not.
func makeDir() (string, error) {
	dir, err := os.MkdirTemp("", "nod-python-test-")
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	return dir, err
}

func newDir(t *testing.T) string {
	t.Helper()
	dir, err := makeDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := erase(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

var thread = chat.ThreadID{Platform: "slack", Channel: "T1:C1", Root: "1"}

// runCode runs code in a thread, with files by name and content.
func runCode(t *testing.T, p *Python, th chat.ThreadID, code string, files ...[2]string) llm.Result {
	t.Helper()
	args, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	in := tools.Input{Desk: chat.Desk{Thread: th, Key: "k"}, Args: args}
	content := map[string]string{}
	for _, f := range files {
		blob := fmt.Sprintf("blob of %s", f)
		content[blob] = f[1]
		in.Files = append(in.Files, chat.File{Name: f[0], Blob: blob, Size: int64(len(f[1]))})
	}
	in.Open = func(_ context.Context, f chat.File) ([]byte, error) { return []byte(content[f.Blob]), nil }
	start := time.Now()
	r, err := p.Tool().Run(t.Context(), in)
	if err != nil {
		t.Fatalf("run %q: %v", code, err)
	}
	t.Logf("%v: %q", time.Since(start).Round(time.Millisecond), r.Text)
	return r
}

// wantText fails unless the text holds all that is wanted.
func wantText(t *testing.T, r llm.Result, failed bool, want ...string) {
	t.Helper()
	if r.Failed != failed {
		t.Errorf("failed is %v, want %v: %q", r.Failed, failed, r.Text)
	}
	for _, w := range want {
		if !strings.Contains(r.Text, w) {
			t.Errorf("the text lacks %q:\n%s", w, r.Text)
		}
	}
}

func names(files []llm.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Name)
	}
	return out
}

func otherThread(n int) chat.ThreadID {
	return chat.ThreadID{Platform: "slack", Channel: "T1:C1", Root: "other-" + strconv.Itoa(n)}
}

func TestCodeRuns(t *testing.T) {
	p := sharedPython(t)
	for _, c := range []struct {
		name, code, want string
		failed           bool
	}{
		{"last expression", "x = 20\nx + 1", "21", false},
		{"state of the last call", "x * 2", "40", false},
		{"None is not shown", "None", "done; nothing was printed", false},
		{"printed, then shown", "print('a')\n'b'", "a\n'b'", false},
		{"functions", "def double(n):\n    return 2 * n", "done; nothing was printed", false},
		{"functions of an earlier call", "double(x)", "40", false},
		{"standard error", "import sys\nprint('to err', file=sys.stderr)", "to err", false},
		{"a program's output", "import subprocess\nsubprocess.run(['/bin/echo', 'hello'], check=True).returncode", "hello\n0", false},
		{"no input", "input()", "Traceback (most recent call last):\n  File \"<call 9>\", line 1, in <module>\n    input()\nEOFError: EOF when reading a line", true},
		{"pickling what the code defines", "import pickle\nclass C: pass\npickle.loads(pickle.dumps(C())).__class__", "<class '__main__.C'>", false},
		{"sys.exit", "import sys\nsys.exit(0)", "done; nothing was printed", false},
		{"sys.exit that complains", "sys.exit('no data')", "Traceback (most recent call last):\n  File \"<call 12>\", line 1, in <module>\n    sys.exit('no data')\nSystemExit: no data", true},
		{"UTF-8", "'Zoë 東京'", "'Zoë 東京'", false},
		{"several processors' worth", "import multiprocessing\nwith multiprocessing.Pool(2) as pool:\n    r = pool.map(double, [1, 2])\nr", "[2, 4]", false},
		{
			"a traceback without our frames", "def f():\n    return 1 / 0\nf()",
			"Traceback (most recent call last):\n  File \"<call 15>\", line 3, in <module>\n    f()\n  File \"<call 15>\", line 2, in f\n    return 1 / 0\n           ~~^~~\nZeroDivisionError: division by zero", true,
		},
		{"a syntax error", "x = = 1", "  File \"<call 16>\", line 1\n    x = = 1\n        ^\nSyntaxError: invalid syntax", true},
		{"what was printed before an error", "print('before')\nnope", "before\nTraceback (most recent call last):\n  File \"<call 17>\", line 2, in <module>\n    nope\nNameError: name 'nope' is not defined", true},
	} {
		r := runCode(t, p, thread, c.code)
		if got := strings.TrimSpace(r.Text); got != strings.TrimSpace(c.want) || r.Failed != c.failed {
			t.Errorf("%s: failed %v, want %v\n%s", c.name, r.Failed, c.failed, cmp.Diff(c.want, r.Text))
		}
	}
}

// Checked arguments of a text protocol fit the tool.
func TestToolInBox(t *testing.T) {
	p := sharedPython(t)
	tool := p.Tool()
	box := tooltest.Box(t, tool)
	r, err := box.Call(t.Context(), chat.Desk{Thread: thread}, llm.Call{Name: "python", Args: `{"code":"print(6 * 7)"}`})
	if err != nil || r.Text != "42" {
		t.Errorf("got %q, %v", r.Text, err)
	}
	r, _ = box.Call(t.Context(), chat.Desk{Thread: thread}, llm.Call{Name: "python", Args: `{"code":""}`})
	wantText(t, r, true, "python was not run")
	want := []any{"python", "code interpreter", []string{"code_interpreter", "python_interpreter"}, "code", true, true}
	got := []any{tool.Name, tool.HumanName, tool.Aliases, tool.Code, tool.ReadOnly, tool.Advances}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilesOfTheThread(t *testing.T) {
	p := sharedPython(t)
	prices := [2]string{"stock_prices.csv", "day,price\nMon,10\nTue,12\nWed,17\n"}
	r := runCode(t, p, thread, "import pandas\ndf = pandas.read_csv('stock_prices.csv')\ndf.head(2)", prices)
	wantText(t, r, false, "   day  price\n0  Mon     10\n1  Tue     12")
	if len(r.Files) > 0 {
		t.Errorf("what was only read came back: %v", names(r.Files))
	}

	r = runCode(t, p, thread, "df['twice'] = df.price * 2\ndf.to_csv('out.csv', index=False)\nimport os\nos.makedirs('sub/.x')\nopen('sub/a.txt', 'w').write('deep')\nopen('.hidden', 'w').write('x')\nopen('sub/.x/b', 'w').write('x')", prices)
	want := []llm.File{
		{Name: "out.csv", MediaType: "text/csv; charset=utf-8", Data: []byte("day,price,twice\nMon,10,20\nTue,12,24\nWed,17,34\n")},
		{Name: "sub_a.txt", MediaType: "text/plain; charset=utf-8", Data: []byte("deep")},
	}
	if diff := cmp.Diff(want, r.Files); diff != "" {
		t.Error(diff)
	}
	wantText(t, r, false, "files: out.csv (text/csv; charset=utf-8, 46 bytes), sub_a.txt (text/plain; charset=utf-8, 4 bytes)")

	// Changes of the code to its copy stay, and come back once.
	r = runCode(t, p, thread, "open('stock_prices.csv', 'a').write('Thu,1\\n')", prices)
	if diff := cmp.Diff([]string{"stock_prices.csv"}, names(r.Files)); diff != "" {
		t.Error(diff)
	}
	wantText(t, runCode(t, p, thread, "open('stock_prices.csv').read()", prices), false, "Thu,1")
	// Until the thread has another file of the name, or none.
	wantText(t, runCode(t, p, thread, "open('stock_prices.csv').read()", [2]string{"stock_prices.csv", "new"}), false, "'new'")
	wantText(t, runCode(t, p, thread, "sorted(os.listdir())"), false, "['.hidden', 'out.csv', 'sub']")

	// Names are names.
	r = runCode(t, p, thread, "sorted(os.listdir())", [2]string{"../../evil.csv", "x"}, [2]string{".bashrc", "x"})
	wantText(t, r, false, "'_._.._evil.csv'", "'_bashrc'", `the file "../../evil.csv" is in the folder as _._.._evil.csv`)
}

// Files that are too large are said to be missing, and not looked for.
func TestLargeFilesOfTheThread(t *testing.T) {
	p := sharedPython(t)
	in := tools.Input{Desk: chat.Desk{Thread: thread, Files: []chat.File{{Name: "big.csv", Blob: "b", Size: inputMost + 1}, {Name: "lost.csv", Blob: "c", Size: 1}}}}
	in.Args = json.RawMessage(`{"code":"import os; os.listdir()"}`)
	in.Open = func(_ context.Context, f chat.File) ([]byte, error) {
		if f.Name == "big.csv" {
			t.Error("it was opened")
		}
		return nil, errors.New("gone")
	}
	r, err := p.Tool().Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, r, false, "big.csv is not in the folder: it is too large", "lost.csv is not in the folder: it can't be opened", "[]")
}

func TestPlots(t *testing.T) {
	p := sharedPython(t)
	r := runCode(t, p, thread, "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()\nplt.bar([1, 2], [3, 4])")
	if diff := cmp.Diff([]string{"plot-1.png", "plot-2.png"}, names(r.Files)); diff != "" {
		t.Fatal(diff)
	}
	if bytes.Equal(r.Files[0].Data, r.Files[1].Data) {
		t.Error("the figure that was left open is the one that was shown")
	}
	for _, f := range r.Files {
		img, err := png.Decode(bytes.NewReader(f.Data))
		if err != nil || img.Bounds().Dx() < 300 || f.MediaType != "image/png" {
			t.Errorf("%s (%s) is no picture: %v", f.Name, f.MediaType, err)
		}
	}
	// Choosing a backend, as code from elsewhere does, changes nothing.
	r = runCode(t, p, thread, "import matplotlib\nmatplotlib.use('Agg')\nfig, ax = plt.subplots()\nax.plot([1, 2])\nfig.show()\nplt.show()")
	wantText(t, r, false, "files: plot-3.png")
	if strings.Contains(r.Text, "Warning") || len(r.Files) != 1 {
		t.Errorf("got %q", r.Text)
	}
	wantText(t, runCode(t, p, thread, "1"), false, "1") // and none comes twice
	r = runCode(t, p, thread, "for n in range(12):\n    plt.figure()\n    plt.plot([n])")
	if len(r.Files) != producedCount || r.Files[6].Name != "plot-10.png" {
		t.Errorf("got %v", names(r.Files))
	}
	wantText(t, r, false, "2 more files stay in the folder")
}

func TestThreadsAreApart(t *testing.T) {
	p := sharedPython(t)
	runCode(t, p, thread, "secret = 7\nopen('mine.txt', 'w').write('x')")
	wantText(t, runCode(t, p, otherThread(1), "secret"), true, "NameError")
	wantText(t, runCode(t, p, otherThread(1), "import os\nos.listdir(), os.listdir('/tmp'), [p for p in os.listdir('/proc') if p.isdigit()]"), false, "([], ['.matplotlib'], ['1', '2'])")
	wantText(t, runCode(t, p, thread, "secret"), false, "7")
}

// Who was not used for the longest time goes first, and the model is told.
func TestMostInterpreters(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	p := newPython(t, Options{Most: 2, Now: func() time.Time { return now }})
	for n := range 3 {
		now = now.Add(time.Second)
		runCode(t, p, otherThread(n), fmt.Sprintf("df, total = %d, 1", n))
	}
	if n := len(sandboxes(t, p)); n != 2 {
		t.Errorf("%d interpreters run", n)
	}
	wantText(t, runCode(t, p, otherThread(2), "df"), false, "2")
	now = now.Add(time.Second)
	wantText(t, runCode(t, p, otherThread(0), "print('here')"), false, "a new interpreter was started", "among them df, total", "here")
	// That one took the place of the other.
	wantText(t, runCode(t, p, otherThread(1), "df"), true, "a new interpreter was started", "NameError")
}

// Many at once, in more threads than there may be interpreters.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	p := newPython(t, Options{Most: 2})
	got := make(chan string, 12)
	for n := range cap(got) {
		go func() {
			args, _ := json.Marshal(map[string]string{"code": fmt.Sprintf("n = %d\nn", n)})
			r, err := p.Tool().Run(t.Context(), tools.Input{Desk: chat.Desk{Thread: otherThread(n % 4)}, Args: args})
			if err != nil || !strings.HasSuffix(r.Text, strconv.Itoa(n)) {
				got <- fmt.Sprintf("call %d: %q, %v", n, r.Text, err)
				return
			}
			got <- ""
		}()
	}
	for range cap(got) {
		if wrong := <-got; wrong != "" {
			t.Error(wrong)
		}
	}
	if n := len(sandboxes(t, p)); n > 2 {
		t.Errorf("%d interpreters run", n)
	}
}

func TestIdleInterpretersEnd(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	p := newPython(t, Options{Idle: time.Minute, Keep: time.Hour, Now: func() time.Time { return now }})
	runCode(t, p, thread, "df = 1\nopen('kept.txt', 'w').write('x')")
	now = now.Add(59 * time.Second)
	p.sweep()
	wantText(t, runCode(t, p, thread, "df"), false, "1")
	now = now.Add(time.Minute)
	p.sweep()
	if n := len(sandboxes(t, p)); n != 0 {
		t.Errorf("%d interpreters run", n)
	}
	wantText(t, runCode(t, p, thread, "import os\nos.listdir()"), false, "a new interpreter was started", "among them df", "['kept.txt']")
	// Told once.
	if r := runCode(t, p, thread, "1"); r.Text != "1" {
		t.Errorf("got %q", r.Text)
	}

	now = now.Add(time.Hour)
	p.sweep()
	p.sweep()
	wantText(t, runCode(t, p, thread, "import os\nos.listdir()"), false, "[]")
}

// The folder and the word of what is lost outlive the process.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	p := newPython(t, Options{Dir: dir})
	q := newPython(t, Options{Dir: dir}) // another bot over the same folder gets a part of its own
	if p.dir == q.dir {
		t.Fatal("two processes share a folder")
	}
	runCode(t, p, thread, "df = 1\nopen('kept.txt', 'w').write('x')")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = newPython(t, Options{Dir: dir})
	wantText(t, runCode(t, p, thread, "import os\nos.listdir()"), false, "among them df", "['kept.txt']")
	if err := p.Forget(thread); err != nil {
		t.Fatal(err)
	}
	if n := len(sandboxes(t, p)); n != 0 {
		t.Errorf("%d interpreters run", n)
	}
	if got := runCode(t, p, thread, "os.listdir() if 'os' in globals() else __import__('os').listdir()").Text; got != "[]" {
		t.Errorf("got %q", got)
	}
}

func TestStopped(t *testing.T) {
	p := sharedPython(t)
	runCode(t, p, thread, "x = 5")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("somebody said stop")
	in := tools.Input{Desk: chat.Desk{Thread: thread}, Args: json.RawMessage(`{"code":"print('begun', flush=True)\nopen('/thread/begun', 'w').close()\nwhile True: pass"}`)}
	work := filepath.Join(p.threads(), folderName(thread), "work", "begun")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(work); err == nil {
				cancel(stop)
			}
		}
	}()
	r, err := p.Tool().Run(ctx, in)
	if !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
	wantText(t, r, true, "begun", "it was stopped")
	wantText(t, runCode(t, p, thread, "x"), false, "5")
}

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	p := newPython(t, Options{answer: time.Second})
	runCode(t, p, otherThread(1), "import subprocess; 1")
	begun := filepath.Join(p.threads(), folderName(thread), "work", "begun")
	done := make(chan llm.Result)
	go func() {
		args, _ := json.Marshal(map[string]string{"code": ignoreInterrupts + "open('begun', 'w').close()\nwhile True: pass"})
		r, err := p.Tool().Run(t.Context(), tools.Input{Desk: chat.Desk{Thread: thread}, Args: args})
		if !errors.Is(err, errClosed) {
			t.Errorf("the error is %v", err)
		}
		done <- r
	}()
	for {
		if _, err := os.Stat(begun); err == nil {
			break
		}
	}
	if len(sandboxes(t, p)) != 2 {
		t.Error("two interpreters should run")
	}
	closed := make(chan error)
	go func() { closed <- p.Close() }()
	wantText(t, <-done, true, "it was stopped")
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if left := sandboxes(t, p); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	r, err := p.Tool().Run(t.Context(), tools.Input{Desk: chat.Desk{Thread: thread}, Args: json.RawMessage(`{"code":"1"}`)})
	if !errors.Is(err, errClosed) {
		t.Errorf("a call after the end: %q, %v", r.Text, err)
	}
}
