package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
)

// mostTime bounds one child: only a failing test waits for it.
const mostTime = 60 * time.Second

// start runs this test binary as a child.
func start(ctx context.Context, p *Platform, store, until string, die int) (*exec.Cmd, *strings.Builder, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), envChild+"="+p.URL, envStore+"="+store, envUntil+"="+until, envSlow+"="+p.Slow.String(), fmt.Sprintf("%s=%d", envDie, die))
	out := &strings.Builder{}
	cmd.Stderr, cmd.Stdout = out, out
	return cmd, out, cmd.Start()
}

// live runs a child until the state is reached or it dies at the boundary; it
// says whether it died.
func live(t *testing.T, p *Platform, store, until string, die int) (died bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), mostTime)
	defer cancel()
	cmd, out, err := start(ctx, p, store, until, die)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("the child did not come to %q\n%s", until, out)
	}
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			return true
		}
	}
	t.Fatalf("child: %v\n%s", err, out)
	return false
}

// Walk kills a turn at every boundary: once on the way to its approval, and
// once from the approval, which is given while nothing runs, to its end. stores
// gives an empty store a time. Each turn must end with one answer, and its
// side effect must have run at most once; it must have run when nothing died
// in the middle of it.
func Walk(t *testing.T, stores func(t *testing.T) string) {
	walk(t, stores, turn{"deploy it", "answer/1-", "file/1-1-2-"})
}

// WalkByHand is Walk for a call that a person makes.
func WalkByHand(t *testing.T, stores func(t *testing.T) string) {
	walk(t, stores, turn{`run deploy {"for": "me"}`, "ran/1-", "file/1-1-1-"})
}

// turn is what a walk plays: what somebody says, and what the posts are called that
// end it and that hold the file which the call makes.
type turn struct{ said, answer, file string }

func walk(t *testing.T, stores func(t *testing.T) string, play turn) {
	for _, phase := range []string{"asked", "ended"} {
		t.Run(phase, func(t *testing.T) {
			n := 1
			for ; walkOne(t, stores(t), play, phase, n); n++ {
				if t.Failed() {
					return
				}
			}
			if n < 6 {
				t.Errorf("only %d boundaries on the way to %q: the walk does not see the turn", n, phase)
			}
			t.Logf("%d boundaries", n-1)
		})
	}
}

// walkOne plays one turn and kills it at the boundary; died is false when the
// turn was over before it.
func walkOne(t *testing.T, store string, play turn, phase string, boundary int) (died bool) {
	t.Helper()
	p := NewPlatform(t)
	thread := chat.ThreadID{Platform: "board", Channel: "c", Root: "1"}
	die := map[string]int{phase: boundary}
	p.Say(thread, "m1", play.said)
	for _, state := range []string{"asked", "ended"} {
		until := state + " " + thread.String()
		if die[state] > 0 {
			died = live(t, p, store, until, die[state])
		}
		if die[state] == 0 || died {
			live(t, p, store, until, 0)
		}
		if state == "asked" {
			for _, ref := range p.Asked() {
				p.Send(Yes(thread, ref))
			}
		}
	}
	for _, f := range p.Faults() {
		t.Errorf("killed at boundary %d of %s: %s", boundary, phase, f)
	}
	if n := p.Count(thread, play.answer); n != 1 {
		t.Errorf("killed at boundary %d of %s: %d answers, want 1", boundary, phase, n)
	}
	if phase == "asked" && p.Effects() != 1 {
		t.Errorf("killed at boundary %d of %s: the approval that was given while nothing ran was not honoured", boundary, phase)
	}
	if n := p.Count(thread, play.file); phase == "asked" && n != 1 {
		t.Errorf("killed at boundary %d of %s: the file that the call made was posted %d times, want 1", boundary, phase, n)
	}
	return died
}

// Check reads what is left of the threads: all messages are in the log once
// each, and every turn ended with one post that says so.
func Check(t *testing.T, p *Platform, store memory.Reader, threads []chat.ThreadID, messages int) {
	t.Helper()
	for _, f := range p.Faults() {
		t.Error(f)
	}
	for _, thread := range threads {
		log, err := store.Read(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, e := range log {
			switch b := e.Body.(type) {
			case memory.Message:
				seen[b.Ref.ID]++
			case memory.Ended:
				key := fmt.Sprintf("answer/%d-", b.Turn)
				if n := p.Count(thread, key); n != 1 {
					t.Errorf("%s: turn %d has %d answers", thread, b.Turn, n)
				}
			}
		}
		if len(seen) != messages {
			t.Errorf("%s: %d messages in the log, want %d", thread, len(seen), messages)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s: message %s is in the log %d times", thread, id, n)
			}
		}
		if !reached(log, "ended") {
			t.Errorf("%s is stuck", thread)
		}
	}
}
