package main

import (
	"os"
	"os/exec"
	"strings"
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
