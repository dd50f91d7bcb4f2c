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

// mostTime bounds one child: only a failing test waits for it. A storm leaves a backlog
// that takes a busy machine more than a minute.
const mostTime = 5 * time.Minute

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
// once from the approval, which is given while nothing runs, to its end. Each turn
// must end with one answer, and its side effect must have run at most once; it must
// have run when nothing died in the middle of it.
func Walk(t *testing.T, stores Stores) {
	walk(t, stores, turn{said: "deploy it", answer: "answer/1-", file: "file/1-1-2-", times: 1})
}

// WalkByHand is Walk for a call that a person makes.
func WalkByHand(t *testing.T, stores Stores) {
	walk(t, stores, turn{said: `run deploy {"for": "me"}`, answer: "ran/1-", file: "file/1-1-1-", times: 1})
}

// WalkAgain is Walk for a call of a turn that is over, which a person edits in a form
// and runs again.
func WalkAgain(t *testing.T, stores Stores) {
	walk(t, stores, turn{said: "deploy it", again: "deploy", answer: "answer/", file: "file/", times: 2})
}

// turn is what a walk plays: what somebody says, and what the posts are called that
// end it and that hold the file which the call makes. With again it is what comes of
// running that tool's call again, once all of that is over.
type turn struct {
	said, again  string
	answer, file string
	times        int // how many of each there are in the end
}

// prepare has happen what comes before the turn.
func (play turn) prepare(t *testing.T, p *Platform, store string, thread chat.ThreadID) {
	t.Helper()
	p.Say(thread, "m1", play.said)
	if play.again == "" {
		return
	}
	live(t, p, store, "asked "+thread.String(), 0)
	p.Send(Yes(thread, p.Asked()[0]))
	live(t, p, store, "ended "+thread.String(), 0)
	p.Send(Event{ID: "again", Thread: thread, Again: play.again})
}

// Stores gives, to those who play one walk at a time, an empty store each time.
type Stores func(t *testing.T) (empty func() string)

// lanes is how many parts a walk has, each with every so manieth boundary, which are
// played beside each other: a child that was killed in the middle of a side effect is
// waited for, and most of a walk is waiting.
const lanes = 3

// raced says that the race detector looks on. It makes children many times slower and
// sees the same code in each, so one lane is played then; `make race` plays all of
// them without it.
var raced bool

// Every is the step of a walk over boundaries: all of them, or every so manieth when
// the race detector looks on.
func Every() int64 {
	if raced {
		return lanes
	}
	return 1
}

func walk(t *testing.T, stores Stores, play turn) {
	for _, phase := range []string{"asked", "ended"} {
		for lane := range lanes {
			if raced && lane > 0 {
				break
			}
			t.Run(fmt.Sprint(phase, " ", lane+1), func(t *testing.T) {
				t.Parallel()
				empty := stores(t)
				n := lane + 1
				for ; walkOne(t, empty(), play, phase, n); n += lanes {
					if t.Failed() {
						return
					}
				}
				if n < 2*lanes {
					t.Errorf("only %d boundaries on the way to %q: the walk does not see the turn", n, phase)
				}
				t.Logf("every %d. of %d boundaries", lanes, n-1)
			})
		}
	}
}

// walkOne plays one turn and kills it at the boundary; died is false when the
// turn was over before it.
func walkOne(t *testing.T, store string, play turn, phase string, boundary int) (died bool) {
	t.Helper()
	p := NewPlatform(t)
	thread := chat.ThreadID{Platform: "board", Channel: "c", Root: "1"}
	die := map[string]int{phase: boundary}
	play.prepare(t, p, store, thread)
	for _, state := range []string{"asked", "ended"} {
		until := state + " " + thread.String()
		if state == "asked" && play.times > 1 {
			until = "twice " + thread.String()
		}
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
	if n := p.Count(thread, play.answer); n != play.times {
		t.Errorf("killed at boundary %d of %s: %d answers, want %d", boundary, phase, n, play.times)
	}
	if phase == "asked" && p.Effects() != play.times {
		t.Errorf("killed at boundary %d of %s: the approval that was given while nothing ran was not honoured", boundary, phase)
	}
	if n := p.Count(thread, play.file); phase == "asked" && n != play.times {
		t.Errorf("killed at boundary %d of %s: the file that the call made was posted %d times, want %d", boundary, phase, n, play.times)
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
