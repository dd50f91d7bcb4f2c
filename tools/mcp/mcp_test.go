package mcp

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/chat/patience"
	"nod/llm"
	"nod/tools"
)

// forever is how long a test that fails waits, and no other.
const forever = 10 * time.Minute

// quick is a pace for tests.
var quick = pace{
	wait: forever, glance: forever, attempt: forever, call: forever, patient: forever, whom: forever,
	steady: forever, exit: forever, grace: 500 * time.Millisecond,
	least: 10 * time.Millisecond, most: 50 * time.Millisecond, bytes: 1 << 20,
}

// logs collects what is logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String gives all of it.
func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// bench is servers, as the program has them.
type bench struct {
	t    *testing.T
	ss   *Servers
	box  *tools.Box
	logs *logs
}

func connect(t *testing.T, o Options) *bench {
	t.Helper()
	b := &bench{t: t, logs: &logs{}}
	o.Logger = slog.New(slog.NewJSONHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.pace == (pace{}) {
		o.pace = quick
	}
	var err error
	if b.ss, err = Connect(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.ss.Close()
		if t.Failed() {
			t.Logf("logs:\n%s", b.logs)
		}
	})
	if b.box, err = tools.NewBox(b.ss.Tools()...); err != nil {
		t.Fatal(err)
	}
	return b
}

// stdio is a server that is this test binary.
func stdio(t *testing.T, dir string, flags ...string) Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: "test", Command: append([]string{exe, "serve", dir}, flags...)}
}

func (b *bench) call(name, arguments string) (llm.Result, error) {
	return b.box.Call(b.t.Context(), chat.Desk{Key: "key 1"}, llm.Call{Name: name, Args: arguments})
}

// says calls a tool and demands that the result holds a text.
func (b *bench) says(name, arguments, want string, failed bool) {
	b.t.Helper()
	r, err := b.call(name, arguments)
	if !strings.Contains(r.Text, want) || r.Failed != failed {
		b.t.Errorf("%s %s = %.300q, failed %t, %v; want %q", name, arguments, r.Text, r.Failed, err, want)
	}
}

// eventually waits for what must happen soon.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(forever)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestStdio(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "very-secret")
	dir := t.TempDir()
	b := connect(t, Options{Servers: []Server{stdio(t, dir, "greets")}})
	b.says("test_echo", `{"text":"hello"}`, "you said hello", false)
	b.says("test_echo", `{"txt":"hello"}`, "arguments are wrong", true)
	b.says("test_fails", `{}`, "the disk is full", true)
	b.says("test_key", `{}`, keyOf("key 1"), false)
	b.says("test_structured", `{}`, `{"degrees":21,"html":"<b>"}`, false)
	r, err := b.call("test_env", `{}`)
	if err != nil || strings.Contains(r.Text, "very-secret") || !strings.Contains(r.Text, "PATH=") {
		t.Errorf("environment: %q, %v", r.Text, err)
	}
	for _, tool := range b.ss.Tools() {
		if tool.Risk != tools.Ask || tool.ReadOnly || !tool.Outside {
			t.Errorf("%s: risk %s, read only %t, outside %t", tool.Name, tool.Risk, tool.ReadOnly, tool.Outside)
		}
	}
	if logs := b.logs.String(); strings.Contains(logs, "hello") || strings.Contains(logs, "disk") || !strings.Contains(logs, "accept-mcp") {
		t.Errorf("logs: %s", logs)
	}
}

// Results other than text become files, under harmless names.
func TestMedia(t *testing.T) {
	b := connect(t, Options{Servers: []Server{stdio(t, t.TempDir())}})
	r, err := b.box.Call(t.Context(), chat.Desk{Files: []chat.File{{Name: "TEST_media.png"}}}, llm.Call{Name: "test_media", Args: `{}`})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Files {
		got = append(got, f.Name+" "+f.MediaType+" "+string(f.Data))
	}
	want := []string{
		"test_media-2.png image/png png", "test_media-3.png image/png png2", "test_media.wav audio/wav wav", "re_port.pdf application/pdf pdf",
		"build.log text/plain it broke",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if f := r.Files[len(r.Files)-1]; !f.Quiet {
		t.Errorf("%s would be posted", f.Name)
	}
	for _, want := range []string{"file re_port.pdf", "note://1:\na note", "https://x.example/1; one", "resource logs://day/build.log; build\nfile build.log"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q lacks %q", r.Text, want)
		}
	}
}

// A program that dies in the middle of a call is started again, and the model is
// told that nobody knows what it did.
func TestServerDies(t *testing.T) {
	dir := t.TempDir()
	b := connect(t, Options{Servers: []Server{stdio(t, dir)}})
	r, err := b.call("test_dies", `{}`)
	if !r.Failed || err == nil || !strings.Contains(r.Text, "Whether it was done is not known") || !touched(dir, "died") {
		t.Errorf("%q, %v", r.Text, err)
	}
	b.says("test_echo", `{"text":"again"}`, "you said again", false)
	if logs := b.logs.String(); !strings.Contains(logs, "exit status 3") {
		t.Errorf("logs: %s", logs)
	}
}

// An error of the protocol's says that a call was not done only where it is one of the
// request: with the others the server, or what stands behind it, may have begun.
func TestProtocolErrors(t *testing.T) {
	b := connect(t, Options{Servers: []Server{stdio(t, t.TempDir())}})
	b.says("test_wants", `{}`, "test_wants was not done; the server test says:\nno such folder (code -32602)", true)
	b.says("test_gives_up", `{}`, "test_gives_up failed, and what it had begun may be done in part or as a whole; the server test says:\nRequest timed out (code -32001)", true)
}

// passing is the limit of calls that may take so long. What is sent ends the one that
// runs.
func passing(t *testing.T, want time.Duration) (limit, chan<- struct{}) {
	t.Helper()
	over := make(chan struct{})
	return func(ctx context.Context, most time.Duration, cause error) (context.Context, *patience.Limit, func()) {
		if most != want {
			t.Errorf("a call may take %s, want %s", most, want)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		go func() {
			select {
			case <-over:
				cancel(cause)
			case <-ctx.Done():
			}
		}()
		return ctx, nil, func() { cancel(context.Canceled) }
	}, over
}

// A call ends when its time is over, the server's own where it has one, or when the turn
// is stopped; and the server is told.
func TestSlow(t *testing.T) {
	for name, want := range map[string]string{"time": "took longer than 2s", "stop": "was stopped"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := stdio(t, dir)
			if name == "time" {
				s.Timeout = 2 * time.Second // which the test makes pass at once
			}
			limit, over := passing(t, stdcmp.Or(s.Timeout, quick.call))
			b := connect(t, Options{Servers: []Server{s}, limit: limit})
			for _, tool := range b.ss.Tools() { // whoever runs it gives it up then, too
				if want := stdcmp.Or(s.Timeout, quick.call); tool.Timeout != want {
					t.Errorf("%s may take %s, want %s", tool.Name, tool.Timeout, want)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			type answer struct {
				r   llm.Result
				err error
			}
			done := make(chan answer, 1)
			go func() {
				r, err := b.box.Call(ctx, chat.Desk{}, llm.Call{Name: "test_slow", Args: `{}`})
				done <- answer{r, err}
			}()
			eventually(t, "the call runs", func() bool { return touched(dir, "slow.begun") })
			if name == "stop" {
				stop()
			} else {
				over <- struct{}{}
			}
			got := <-done
			r, err := got.r, got.err
			if !r.Failed || !strings.Contains(r.Text, want) || (err != nil) != (name == "stop") {
				t.Errorf("%q, %v", r.Text, err)
			}
			eventually(t, "the server hears of it", func() bool { return touched(dir, "slow.cancelled") })
			b.says("test_echo", `{"text":"on"}`, "you said on", false)
		})
	}
}

// An answer that is too large ends the connection, not this process.
func TestHuge(t *testing.T) {
	p := quick
	p.bytes = 200 << 10
	b := connect(t, Options{Servers: []Server{stdio(t, t.TempDir())}, pace: p})
	b.says("test_huge", `{}`, "more than 204800 bytes", true)
	b.says("test_echo", `{"text":"on"}`, "you said on", false)
}

// A server that is down holds nothing up, and its tools are not there without a
// lock.
func TestDown(t *testing.T) {
	for flag, want := range map[string]string{
		"breaks":  "its program ended (exit status 4)",
		"babbles": "is not the protocol",
		"silent":  "did not answer in time",
		"missing": "its program nothing-such (or the interpreter that it names) is not there",
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			down := stdio(t, t.TempDir(), flag)
			if flag == "silent" {
				down.pace = quick
				down.pace.attempt = time.Millisecond // it never answers
			}
			if flag == "missing" {
				down.Command = []string{"nothing-such"}
			}
			up := stdio(t, t.TempDir())
			up.Name = "up"
			b := connect(t, Options{Servers: []Server{down, up}})
			b.says("up_echo", `{"text":"on"}`, "you said on", false)
			b.says("test_echo", `{"text":"on"}`, "there is no tool", true)
			eventually(t, want, func() bool {
				st := b.ss.States()[0]
				return st.Err != nil && strings.Contains(st.Err.Error(), want)
			})
			if st := b.ss.States()[0]; flag == "breaks" && !strings.Contains(st.Stderr, "cannot open the database") {
				t.Errorf("its last words: %q", st.Stderr)
			}
		})
	}
}

// A server that comes after the start is pinned to what it shows then, once.
func TestLate(t *testing.T) {
	dir := t.TempDir()
	late := stdio(t, dir)
	late.Command = append([]string{"sh", "-c", fmt.Sprintf(`test -e %s/up || exit 4; exec "$@"`, dir), "--"}, late.Command...)
	b := connect(t, Options{Servers: []Server{late}})
	if len(b.ss.Tools()) > 0 {
		t.Fatal("there are tools of a server that is not there")
	}
	touch(dir, "up")
	<-b.ss.Late()
	box, err := tools.NewBox(b.ss.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	b.box = box
	b.says("test_echo", `{"text":"x"}`, "you said x", false)
	touch(dir, "swapped")
	b.says("test_dies", `{}`, "not known", true)
	b.says("test_swap", `{"text":"x"}`, "switched off", true)
	select {
	case <-b.ss.Late():
		t.Error("it came twice")
	default:
	}
}

// With a lock the tools are there while the server is not, and say so.
func TestDownWithLock(t *testing.T) {
	dir := t.TempDir()
	b := connect(t, Options{Servers: []Server{stdio(t, dir)}})
	lock := b.ss.Accept()
	down := stdio(t, dir, "breaks")
	c := connect(t, Options{Servers: []Server{down}, Lock: lock})
	r, err := c.call("test_echo", `{"text":"x"}`)
	if !r.Failed || err == nil || !strings.Contains(r.Text, "not available now") || strings.Contains(err.Error(), dir) {
		t.Errorf("%q, %v", r.Text, err)
	}
}

// Everything that is started ends with Close, also what a server started.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	script := fmt.Sprintf(`sleep 600 & echo $! >%s/pid; exec "$@"`, dir)
	s := stdio(t, dir)
	s.Command = append([]string{"sh", "-c", script, "--"}, s.Command...)
	b := connect(t, Options{Servers: []Server{s}})
	go func() { _, _ = b.call("test_slow", `{}`) }()
	eventually(t, "a call runs", func() bool { return touched(dir, "slow.begun") })
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	b.ss.Close()
	b.ss = nil
	eventually(t, "the child of the server is gone", func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
