package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/agent/run"
	"nod/internal/fakellm"
	"nod/internal/redistest"
)

// patience is how long a test waits for what must happen soon; only a failing
// test waits for it.
const patience = 5 * time.Minute

// place is where a message stands: the conversation that it belongs to, and the
// message itself, as the platform names them.
type place struct {
	channel string
	thread  string
	message string
}

// post is a message of the bot's.
type post struct {
	place
	text string // all that a reader sees of it
	file string // the content of the file that came with it
}

// world is a platform with people on it. The tests that hold on every platform
// are written with it.
type world interface {
	// config is the platform's section of the file.
	config() string
	// env is what the section refers to.
	env() map[string]string

	dm(user, text string) place
	mention(user, text string) place
	// attach mentions the bot in a message with a file.
	attach(user, text, name, content string) place
	reply(user string, to place, text string) place
	mentionIn(user string, to place, text string) place
	edit(user string, at place, text string)
	remove(user string, at place)
	react(user string, at place, emoji string)
	unreact(user string, at place, emoji string)
	// posts are the bot's messages in the conversation of a place, as they are
	// now, oldest first.
	posts(at place) []post
	// open is what a reader sees who opens the steps.
	open(user string, steps post) string
	// calls counts the bot's calls so far. stall has the i-th call from now on
	// get no answer, before or after it had its effect; struck says whether it
	// has come, and release lets it go on.
	calls() int
	stall(i int, after bool) (struck func() bool, release func())
	// told are the words that only this person was told.
	told(user string, at place) []string
	// reactions are the emoji that the bot put on a message.
	reactions(at place) []string
	// ballot are the emoji that the bot puts on a card.
	ballot() []string
	// approver gives a name for the person in the file's approvers.
	approver(user string) string
	// cut cuts the bot's connections.
	cut()
	// faults lists what no correct bot does.
	faults() []string
}

// otherwise is a world whose program is not started by `bot run`.
type otherwise interface {
	start() (argv []string, in io.Reader, out io.Writer)
	up() bool // whether it is there
}

// service is the program, running.
type service struct {
	t      testing.TB
	w      world
	llm    *fakellm.Server
	file   string
	http   string
	cancel context.CancelFunc
	done   chan int
	logs   *buffer
	binary string // that spawn starts; empty: this one
}

// buffer collects logs.
type buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String gives what was written.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// setup is what a test wants of the file.
type setup struct {
	store string // a file where it is empty
	extra string // more of the file
	llm   string // more under llm, such as "strategy: plan"
	tools string // under tools.commands; see deployTool
}

// deployTool is a risky command that leaves a line in a file for every run.
const deployTool = `
    - name: deploy
      description: Deploy a service.
      parameters: {type: object, properties: {env: {type: string}}, required: [env], additionalProperties: false}
      argv: [sh, -c, "echo deployed \"$1\" | tee -a ran.txt", --, "{env}"]
    - name: report
      description: Write a report.
      argv: [printf, "a,b\\n1,2\\n"]
      output: file
      read_only: true
      risk: auto
    - name: look
      description: Look something up.
      argv: [echo, "it is 42"]
      read_only: true
      risk: auto
`

// newService writes the file; start starts the program.
func newService(t testing.TB, w world, rule func(fakellm.Request) fakellm.Reply, s setup) *service {
	t.Helper()
	n := &service{t: t, w: w, llm: fakellm.Start(t, rule), http: freeAddr(t)}
	dir := t.TempDir()
	if s.store == "" {
		s.store = "sqlite:nod.db"
	}
	if s.tools == "" {
		s.tools = deployTool
	}
	n.file = filepath.Join(dir, "nod.yaml")
	text := fmt.Sprintf("store: %s\nllm: {base_url: %q, api_key: k, model: m%s}\nhttp: {listen: %q}\n%s\n%s\ntools:\n  clock:\n  commands:%s",
		s.store, n.llm.URL, more(s.llm), n.http, w.config(), s.extra, s.tools)
	if err := os.WriteFile(n.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.stop()
		if t.Failed() && n.logs != nil {
			t.Logf("logs:\n%s", n.logs)
		}
		for _, f := range w.faults() {
			t.Errorf("the platform complains: %s", f)
		}
	})
	return n
}

// more goes on with a list in braces.
func more(keys string) string {
	if keys == "" {
		return ""
	}
	return ", " + keys
}

// rewrite copies the file under another name, with one text replaced.
func (n *service) rewrite(name, old, replacement string) string {
	n.t.Helper()
	text, err := os.ReadFile(n.file)
	if err != nil {
		n.t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(n.file), name)
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, replacement)), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return path
}

// freeAddr finds a port below those that the kernel gives to connections, so that
// it is still free when a killed program starts again, and above those of Redis'
// clusters. No two tests get the same.
func freeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 30000+rand.N(2700))
		if _, given := givenAddrs.LoadOrStore(addr, true); given {
			continue
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

// givenAddrs are those that freeAddr gave: what is to listen there may not do so yet.
var givenAddrs sync.Map

// start starts the program and waits until it is ready.
func (n *service) start() {
	n.t.Helper()
	n.launch()
	n.ready()
}

// launch starts the program.
func (n *service) launch() {
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel, n.done, n.logs = cancel, make(chan int, 1), &buffer{}
	argv, in, out := []string{"run"}, io.Reader(strings.NewReader("")), io.Discard
	if o, ok := n.w.(otherwise); ok {
		argv, in, out = o.start()
	}
	env := Env{In: in, Out: out, Err: n.logs, Getenv: func(name string) (string, bool) {
		if v, ok := n.w.env()[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}}
	done := n.done
	go func() { done <- Main(ctx, append(argv, "--config", n.file), env) }()
}

// ready waits until /readyz says that all is connected.
func (n *service) ready() {
	n.t.Helper()
	done := n.done
	eventually(n.t, "the service is ready", func() bool {
		select {
		case code := <-done:
			done <- code
			n.t.Fatalf("bot run ended with status %d:\n%s", code, n.logs)
		default:
		}
		if o, ok := n.w.(otherwise); ok {
			return o.up()
		}
		resp, err := http.Get("http://" + n.http + "/readyz")
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }()
		return resp.StatusCode == http.StatusOK
	})
}

// stop ends the program as SIGTERM does.
func (n *service) stop() {
	if n.cancel == nil {
		return
	}
	n.cancel()
	n.cancel = nil
	select {
	case code := <-n.done:
		if code != exitFine {
			n.t.Errorf("bot run ended with status %d", code)
		}
	case <-time.After(patience + run.DefaultGrace): // what waits for the platform's limits has the grace
		n.t.Error("bot run did not end")
	}
}

// ran are the deployments that were really made.
func (n *service) ran() []string {
	data, err := os.ReadFile(filepath.Join(filepath.Dir(n.file), "ran.txt"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	within(t, patience, what, ok)
}

func within(t testing.TB, most time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(most)
	// To look is work, so that a test that waits long looks more seldom.
	for pause := 10 * time.Millisecond; !ok(); pause = min(pause+pause/16, 100*time.Millisecond) {
		select {
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		case <-time.After(pause):
		}
	}
}

// find waits for a post of the bot's that holds all of the words.
func (n *service) find(at place, words ...string) post {
	n.t.Helper()
	var found post
	n.t.Cleanup(func() {
		if n.t.Failed() && found == (post{}) {
			n.t.Logf("the bot's posts there: %q", n.w.posts(at))
		}
	})
	eventually(n.t, fmt.Sprintf("the bot posts %q", words), func() bool {
		for _, p := range n.w.posts(at) {
			if holds(p.text, words) {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

// ask waits for the approval message of a call with these arguments, not for the
// steps message, which shows them too.
func (n *service) ask(at place, args string) post {
	n.t.Helper()
	return n.find(at, "pprove", args)
}

func holds(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// files gives the content of the files that the bot posted.
func (n *service) files(at place) []string {
	var out []string
	for _, p := range n.w.posts(at) {
		if p.file != "" {
			out = append(out, p.file)
		}
	}
	return out
}

// count says how many posts hold the words.
func (n *service) count(at place, words ...string) int {
	c := 0
	for _, p := range n.w.posts(at) {
		if holds(p.text, words) {
			c++
		}
	}
	return c
}

// stores are the stores that conversations are played on.
func eachStore(t *testing.T, f func(t *testing.T, store string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, "")
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		f(t, redistest.Start(t).URL())
	})
}
