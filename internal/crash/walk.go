package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
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
// says whether it died, and else how many boundaries it passed.
func live(t *testing.T, p *Platform, store, until string, die int) (died bool, boundaries int) {
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
		_, told, _ := strings.Cut(out.String(), passed)
		boundaries, _ = strconv.Atoi(strings.TrimSpace(told))
		return false, boundaries
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			return true, 0
		}
	}
	t.Fatalf("child: %v\n%s", err, out)
	return false, 0
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

// WalkByCode is Walk for an approval by code, killed around the form: before and after the
// code is used up, and before and after the vote is put.
func WalkByCode(t *testing.T, stores Stores) {
	walk(t, stores, turn{said: "deploy it", code: true, answer: "answer/1-", file: "file/1-1-2-", times: 1})
}

// turn is the turn of a walk: the message, and the names of the posts that end it and
// that hold the file of the call. With again, the tool's call is run again once all of
// that is over.
type turn struct {
	said, again  string
	code         bool // the approval is given by code
	answer, file string
	times        int // how many of each there are in the end
}

// prepare plays the events before the turn.
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

// Stores gives an empty store each time.
type Stores func(t *testing.T) (store string)

// Long says whether the tests may take long: `make long` sets NOD_LONG.
func Long() bool { return os.Getenv("NOD_LONG") != "" }

// Points gives the boundaries, counted from 1, at which a walk disturbs: so many of
// them as usual, evenly spread, always the first and the last; three under -short, and
// all of them when Long.
func Points(boundaries, usual int) []int {
	n := usual
	if testing.Short() {
		n = 3
	}
	if Long() {
		n = boundaries
	}
	n = max(2, min(n, boundaries))
	var out []int
	for i := range n {
		out = append(out, 1+i*(boundaries-1)/(n-1))
	}
	return slices.Compact(out)
}

// walk plays the turn undisturbed, which counts its boundaries, and then with a death
// at each point.
func walk(t *testing.T, stores Stores, play turn) {
	all := walkOne(t, stores(t), play, "", 0)
	for _, phase := range phases {
		if all[phase] < 6 {
			t.Errorf("only %d boundaries on the way to %q: the walk does not see the turn", all[phase], phase)
		}
		points := Points(all[phase], 4)
		if play.code {
			points = map[string][]int{"ended": {2, 3, 4, 5, 6, 7, 8}}[phase]
		}
		for _, n := range points {
			t.Run(fmt.Sprint(phase, " ", n), func(t *testing.T) {
				t.Parallel()
				walkOne(t, stores(t), play, phase, n)
			})
		}
		t.Logf("%d boundaries on the way to %q", all[phase], phase)
	}
}

// phases are the states that a turn comes to.
var phases = []string{"asked", "ended"}

// walkOne plays one turn and kills it at the boundary of the phase, if that is one. It
// gives how many boundaries there were in each phase where nothing died.
func walkOne(t *testing.T, store string, play turn, phase string, boundary int) (boundaries map[string]int) {
	t.Helper()
	p := NewPlatform(t)
	thread := chat.ThreadID{Platform: "board", Channel: "c", Root: "1"}
	boundaries = map[string]int{}
	play.prepare(t, p, store, thread)
	for _, state := range phases {
		until := state + " " + thread.String()
		if state == "asked" && play.times > 1 {
			until = "twice " + thread.String()
		}
		died := false
		if state == phase {
			died, _ = live(t, p, store, until, boundary)
		}
		if state != phase || died {
			_, boundaries[state] = live(t, p, store, until, 0)
		}
		if state == "asked" {
			for _, ref := range p.Asked() {
				vote := Yes(thread, ref)
				if play.code {
					vote = Event{ID: vote.ID, Thread: thread, Code: true}
				}
				p.Send(vote)
			}
		}
	}
	for _, f := range p.Faults() {
		t.Errorf("killed at boundary %d of %s: %s", boundary, phase, f)
	}
	if n := p.Count(thread, play.answer); n != play.times {
		t.Errorf("killed at boundary %d of %s: %d answers, want %d", boundary, phase, n, play.times)
	}
	if phase != "ended" && p.Effects() != play.times {
		t.Errorf("killed at boundary %d of %s: the approval that was given while nothing ran was not honoured", boundary, phase)
	}
	if n := p.Count(thread, play.file); phase != "ended" && n != play.times {
		t.Errorf("killed at boundary %d of %s: the file that the call made was posted %d times, want %d", boundary, phase, n, play.times)
	}
	return boundaries
}

// Check reads the threads afterwards: all messages are in the log once each, and every
// turn ended with one post that says so.
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
		seen, planned := map[string]int{}, map[uint64]int{}
		for _, e := range log {
			switch b := e.Body.(type) {
			case memory.Message:
				seen[b.Ref.ID]++
			case memory.Scheduled:
				planned[e.Seq] = 0
			case memory.Slot:
				planned[b.Of]++
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
		for of, n := range planned {
			if n != 1 {
				t.Errorf("%s: the time of schedule %d came %d times", thread, of, n)
			}
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
