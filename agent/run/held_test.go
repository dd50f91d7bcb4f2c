package run_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/chat"
	"nod/llm"
)

// builder is a server whose call asks its person something, and then runs as a task for
// half an hour. It outlives the processes that call it.
type builder struct {
	life          *life          // of the process that calls
	begun, wentOn map[string]int // by the key of the call
	told, got     int
	since         time.Time
}

// Call implements run.Toolbox.
func (b *builder) Call(ctx context.Context, desk chat.Desk, _ llm.Call) (r llm.Result, err error) {
	switch at := desk.Resumes; {
	case at == nil:
		err = b.life.both(func() error { b.begun[desk.Key]++; return nil })
		desk.Hold(chat.Handle{Key: "state", Server: "ops", Asks: []chat.Question{{From: "ops", Text: "Sure?"}}})
	case !at.Repeats:
		err = b.life.both(func() error { b.wentOn[desk.Key]++; b.since = time.Now(); return nil })
		desk.Hold(chat.Handle{Key: "task", Server: "ops", Repeats: true})
		r.Text = string(at.Answers[0].How)
	case at.Stop:
		b.told++
		r = llm.Result{Text: "the server was told", Failed: true}
	default:
		select {
		case <-time.After(time.Until(b.since.Add(30 * time.Minute))):
			b.got++
			r.Text = "built"
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return r, err
}

// A process that is killed at any boundary of a call whose server asks its person, and then
// runs it as a task: the call begins once, goes on once, and has one result.
func TestTaskKilledAtEveryBoundary(t *testing.T) {
	t.Parallel()
	everyBoundary(t, 30, func(n int64) (boundaries int64) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			k, b := newHeld(t, dir, n)
			k.goes(2*time.Minute, func() error { return k.say("go") })
			lines := strings.Join(k.board.Lines(), "\n")
			if strings.Contains(lines, "ops asks:") && !strings.Contains(lines, "ops asked:") { // its time may be over
				k.goes(15*time.Minute, func() error {
					_, err := k.inbox.Message(t.Context(), k.thread, chat.Message{
						Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: "yes"}, From: chat.User{ID: "ada", Name: "ada"}, Text: "yes", Sent: time.Now(),
					}, "yes")
					return err
				})
			}
			boundaries = k.life.count.Load()
			k.goes(time.Hour, nil)
			k.end()
			lines += strings.Join(k.board.Lines(), "\n")
			turns := max(1, len(b.begun))
			lost := strings.Contains(lines, "answer done, outcome unknown")
			if strings.Count(lines, "answer done") != turns || !lost && !strings.Contains(lines, "answer done, built") || strings.Count(lines, "ops asks:") > turns {
				t.Errorf("boundary %d: people saw:\n%s", n, lines)
			}
			if lost && b.got >= turns || n == 0 && b.got != 1 {
				t.Errorf("boundary %d: %d results, outcome unknown %t", n, b.got, lost)
			}
			for _, times := range slices.Concat(slices.Collect(maps.Values(b.begun)), slices.Collect(maps.Values(b.wentOn))) {
				if times > 1 {
					t.Errorf("boundary %d: begun %v, went on %v", n, b.begun, b.wentOn)
				}
			}
		})
		return boundaries
	})
}

func newHeld(t *testing.T, dir string, n int64) (*killed, *builder) {
	t.Helper()
	act := tool("act", false)
	act.Timeout = time.Minute
	b := &builder{life: &life{at: n}, begun: map[string]int{}, wentOn: map[string]int{}}
	k := &killed{world: newWorld(t, nil, nil, act), life: b.life, dir: dir, from: openFile, does: b}
	k.begin()
	return k, b
}

// A drain does not end a task: the next process asks how it stands. The steps say for how
// long it runs, and a word to stop has the server end it.
func TestTaskOutlivesADrain(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"": "answer done, built", "stop": "Stopped by ada"} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			k, b := newHeld(t, dir, 0)
			k.board.Statuses = true
			k.goes(time.Minute, func() error { return k.say("go") })
			k.goes(4*time.Minute+time.Second, func() error { return k.say("yes") })
			k.end()
			k.begin()
			k.goes(5*time.Second, nil)
			if lines := strings.Join(k.board.Lines(), "\n"); !strings.Contains(lines, "Running act at ops · 4 min") {
				t.Errorf("people saw:\n%s", lines)
			}
			if word != "" {
				k.goes(time.Second, func() error { return k.say(word) })
			}
			k.goes(time.Hour, nil)
			k.end()
			lines := strings.Join(k.board.Lines(), "\n")
			if !strings.Contains(lines, want) || len(b.begun) != 1 || len(b.wentOn) != 1 || b.told+b.got != 1 || (b.told == 1) != (word == "stop") {
				t.Errorf("%q: begun %v, went on %v, %d results, told %d times; people saw:\n%s", word, b.begun, b.wentOn, b.got, b.told, lines)
			}
		})
	}
}

// To forget a thread ends its calls first, as a word to stop does: the server is told to end
// a task, and a question that waits is never answered. Nothing is said later, and no entry
// comes back.
func TestTaskForgotten(t *testing.T) {
	t.Parallel()
	for _, task := range []bool{false, true} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			k, b := newHeld(t, dir, 0)
			k.goes(time.Minute, func() error { return k.say("go") })
			if task {
				k.goes(time.Minute, func() error { return k.say("yes") })
			}
			k.goes(time.Minute, func() error { return k.say("forget") })
			seen := strings.Join(k.board.Lines(), "\n")
			k.goes(time.Hour, nil)
			later := k.board.Lines()
			log, err := k.full.Read(t.Context(), k.thread)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range log {
				if kind := e.Body.Kind(); !slices.Contains([]string{"started", "forgot", "posted"}, kind) {
					t.Errorf("task %t: %s stayed", task, kind)
				}
			}
			if !strings.Contains(seen, "Forgotten") || len(later) > 0 || (b.told == 1) != task || b.got != 0 || (len(b.wentOn) == 1) != task {
				t.Errorf("task %t: told %d times, %d results, went on %v; people saw:\n%s\nand later %q", task, b.told, b.got, b.wentOn, seen, later)
			}
			k.end()
		})
	}
}
