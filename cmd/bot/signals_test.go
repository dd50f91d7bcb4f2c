package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"nod/internal/fakeslack"
)

// endless is a risky command that runs until the test is over: its folder goes then, also
// where the program is killed and leaves the command behind.
const endless = `
    - name: deploy
      description: Deploy a service.
      parameters: {type: object, properties: {env: {type: string}}, required: [env], additionalProperties: false}
      argv: [sh, -c, "echo deployed >> ran.txt; while [ -e ran.txt ]; do sleep 0.1; done", --, "{env}"]
      timeout: 30m
`

// insist sends a signal again and again until the program ends, and says whether the
// signal was what ended it.
func (n *service) insist(cmd *exec.Cmd, with syscall.Signal) bool {
	n.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	eventually(n.t, "the program ends", func() bool {
		_ = cmd.Process.Signal(with)
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == with
}

// A drain says that it has begun, and whoever does not want to wait for what runs ends
// the program by another signal.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{NoLimits: true})
	n := newService(t, w, frail, setup{tools: endless})
	p := n.spawn()
	defer p.kill()
	n.ready()
	at := w.mention("ada", "deploy prod now")
	w.react("ada", n.ask(at, `{"env":"prod"}`).place, "✅")
	eventually(t, "it is deployed", func() bool { return len(n.ran()) == 1 })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "the drain is logged", func() bool { return strings.Contains(p.out.String(), `"draining`) })
	if !n.insist(p.cmd, syscall.SIGTERM) {
		t.Errorf("it ended by itself: %v", p.cmd.ProcessState)
	}
}

// A person who has left the terminal need not wait for running work either.
func TestInterruptAfterLeaving(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{NoLimits: true})
	n := newService(t, w, frail, setup{tools: endless})
	cmd, out := n.command("chat")
	typed, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	_, _ = typed.Write([]byte("deploy prod now\ny\n"))
	eventually(t, "it is deployed", func() bool { return len(n.ran()) == 1 })
	if !n.insist(cmd, syscall.SIGINT) {
		t.Errorf("it ended by itself: %v\n%s", cmd.ProcessState, out)
	}
}

// A service whose log nobody reads any more goes on, and drains.
func TestReaderIsGone(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{NoLimits: true})
	n := newService(t, w, frail, setup{})
	cmd, _ := n.command("run", "--log-level", "debug")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	_ = write.Close()
	n.ready()
	_ = read.Close()
	n.find(w.mention("ada", "hello"), "You said")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A stop while the store is waited for is a stop like others.
func TestSignalWhileItWaitsForTheStore(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{NoLimits: true})
	n := newService(t, w, frail, setup{store: "redis://" + freeAddr(t) + "/0"})
	p := n.spawn()
	defer p.kill()
	eventually(t, "it waits", func() bool { return strings.Contains(p.out.String(), "waiting for it") })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
	if out := p.out.String(); p.cmd.ProcessState.ExitCode() != 0 || !strings.Contains(out, `"stopped"`) {
		t.Errorf("%v\n%s", p.cmd.ProcessState, out)
	}
}

// SIGHUP has the service read its file anew: it takes the model's key and the level of the
// log, wholly or not at all.
func TestReload(t *testing.T) {
	t.Parallel()
	var wanted atomic.Value // the key that the endpoint takes
	wanted.Store("Bearer key-number-one")
	w := newSlackWorld(t, fakeslack.Options{NoLimits: true})
	n := newService(t, w, frail, setup{})
	model, err := url.Parse(n.llm.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: model.Host}) }}
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != wanted.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	defer gate.Close()
	key := filepath.Join(filepath.Dir(n.file), "key")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.file = n.rewrite("nod2.yaml", "api_key: k,", `api_key: "${file:key}",`)
	n.file = n.rewrite("nod3.yaml", n.llm.URL, gate.URL+"/v1")
	good, err := os.ReadFile(n.file)
	if err != nil {
		t.Fatal(err)
	}
	write(key, "key-number-one\n")
	write(n.file, string(good)+"log: {level: error}\n")
	p := n.spawn()
	defer p.kill()
	n.ready()
	n.find(w.mention("ada", "one"), "You said")
	if strings.Contains(p.out.String(), "INFO") {
		t.Error("the level of the log is not that of the file")
	}

	hangUp := func(line string) {
		t.Helper()
		_ = p.cmd.Process.Signal(syscall.SIGHUP)
		eventually(t, "it logs "+line, func() bool { return strings.Contains(p.out.String(), line) })
	}
	wanted.Store("Bearer key-number-two")
	write(key, "key-number-two\n")
	write(n.file, string(good))
	hangUp("the configuration is taken")
	n.find(w.mention("ada", "two"), "You said")

	write(key, "key-number-three\n")
	write(n.file, string(good)+"limits: {per_day: 7}\n")
	hangUp("limits.per_day: has changed, which needs a restart")
	write(n.file, string(good)+"log: {level: loud}\n")
	hangUp("log.level: must be debug, info, warn or error")
	n.find(w.mention("ada", "three"), "You said")
	if strings.Contains(p.out.String(), "key-number-") {
		t.Error("a secret is in the log")
	}
}
