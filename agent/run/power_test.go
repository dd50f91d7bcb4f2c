package run_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent"
	"nod/agent/run"
	"nod/chat"
	"nod/internal/crash"
	"nod/llm"
	"nod/memory"
)

// disk is what of a store's file is certainly on the disk: a power cut leaves it
// there, and nothing else.
type disk struct {
	dir  string
	mu   sync.Mutex
	kept map[string][]byte // by name
}

var fileNames = []string{"nod.db", "nod.db-wal"}

// keep takes the file as it is for what is on the disk. Where the write-ahead log is
// begun anew or emptied while both are read, what was moved from it is in neither.
func (d *disk) keep() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		before, err := d.read(fileNames[1])
		if err != nil {
			return err
		}
		kept := map[string][]byte{}
		for _, name := range fileNames {
			if kept[name], err = d.read(name); err != nil {
				return err
			}
		}
		if bytes.Equal(walHeader(before), walHeader(kept[fileNames[1]])) {
			d.kept = kept
			return nil
		}
	}
}

// read gives nothing where there is no such file.
func (d *disk) read(name string) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(d.dir, name))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return raw, err
}

// walHeader is another one each time that the log is begun
// (https://sqlite.org/fileformat2.html#walformat).
func walHeader(wal []byte) []byte { return wal[:min(32, len(wal))] }

// cut makes the file what was on the disk.
func (d *disk) cut() error {
	_ = os.Remove(filepath.Join(d.dir, "nod.db-shm")) // no memory outlives it
	for _, name := range fileNames {
		if err := os.WriteFile(filepath.Join(d.dir, name), d.kept[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// powered is a store of a process whose power is cut at a boundary.
type powered struct {
	mortal
	disk *disk
}

// Put implements memory.Store.
func (p powered) Put(ctx context.Context, t chat.ThreadID, b memory.Body, ids ...string) (fresh bool, err error) {
	err = p.both(func() error {
		if fresh, err = p.Full.Put(ctx, t, b, ids...); err != nil {
			return err
		}
		return p.disk.keep()
	})
	return fresh, err
}

// Commit implements memory.Store.
func (p powered) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) (arrived []memory.Entry, err error) {
	soon := memory.Soon(r.Log, r.Unkept(bodies...)...)
	err = p.both(func() error {
		if arrived, err = p.Full.Commit(ctx, r, bodies...); err != nil || soon {
			return err
		}
		return p.disk.keep()
	})
	return arrived, err
}

// reader is a model that reads, acts and answers.
type reader struct{}

// Complete implements llm.Model.
func (reader) Complete(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	results := 0
	for _, m := range r.Messages {
		if m.Role == llm.ToolRole {
			results++
		}
	}
	call := func(name string) (llm.Response, error) {
		return llm.Response{Calls: []llm.Call{{ID: "1", Name: name, Args: `{"n":1}`}}, Finish: "tool_calls"}, nil
	}
	switch results {
	case 0:
		return call("look")
	case 1:
		return call("act")
	}
	return llm.Response{Text: "done", Finish: "stop"}, nil
}

// acting are tools, of which one is a side effect.
type acting struct {
	*life
	acts *int
}

// Call implements run.Toolbox.
func (a acting) Call(_ context.Context, _ chat.Desk, c llm.Call) (llm.Result, error) {
	err := a.both(func() error {
		if c.Name == "act" {
			*a.acts++
		}
		time.Sleep(time.Second) // so that the steps are shown meanwhile
		return nil
	})
	return llm.Result{Text: "fine"}, err
}

// Where the power is cut, at any boundary of a turn that reads, has a call approved and
// answers, what was committed without waiting for the disk is gone. The turn ends all
// the same, with one steps message, one card and one answer, and the call runs once at
// the most.
func TestKillWalkPowerCut(t *testing.T) {
	t.Parallel()
	powerCuts(t, 0)
}

// So it is where most of a turn is held until something of it is to be seen.
func TestKillWalkPowerCutWhileHeld(t *testing.T) {
	t.Parallel()
	powerCuts(t, 5*time.Second)
}

func powerCuts(t *testing.T, hold time.Duration) {
	t.Helper()
	n := int64(1)
	for ; !t.Failed() && powerCutAt(t, hold, n); n += crash.Every() {
	}
	if n < 30 {
		t.Errorf("only %d boundaries: the walk does not see the turn", n-1)
	}
	t.Logf("%d boundaries", n-1)
}

func powerCutAt(t *testing.T, hold time.Duration, n int64) (more bool) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := newPowerCut(t, dir, hold, n)
		c.goes(c.say("go"))
		card, ok := c.board.Find("act")
		if !ok {
			t.Fatalf("boundary %d: no card\n%s", n, strings.Join(c.board.Lines(), "\n"))
		}
		_, err := c.inbox.Reaction(t.Context(), chat.Reaction{On: card, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}, "vote")
		c.goes(err)
		c.goes(nil) // in case that it was cut in the second half
		more = c.life.count.Load() >= n
		c.stop()
		if err := c.full.Close(); err != nil {
			t.Error(err)
		}
		got := "\n" + strings.Join(c.board.Lines(), "\n") + "\n"
		asked, answered, steps := strings.Count(got, "\nask act {"), strings.Count(got, "\nanswer done"), c.board.StepsMessages()
		if asked != 1 || answered != 1 || steps != 1 || c.acts > 1 {
			t.Errorf("boundary %d: %d cards, %d answers, %d steps messages, and the call ran %d times", n, asked, answered, steps, c.acts)
		}
		if t.Failed() {
			t.Logf("people saw:%s", got)
		}
	})
	return more
}

// powerCut is a process whose power is cut, and the one after it.
type powerCut struct {
	*world
	life *life
	disk *disk
	full memory.Full
	acts int
	hold time.Duration
}

func newPowerCut(t *testing.T, dir string, hold time.Duration, n int64) *powerCut {
	act := tool("act", false)
	act.Risk, act.Timeout = agent.Ask, time.Minute
	c := &powerCut{world: newWorld(t, nil, nil, tool("look", true), act), life: &life{at: n}, disk: &disk{dir: dir}, hold: hold}
	c.begin()
	return c
}

func (c *powerCut) begin() {
	var err error
	if c.full, err = openFile(c.t.Context(), c.disk.dir); err != nil {
		c.t.Fatal(err)
	}
	for range 2 { // when the second is there, the write-ahead log of before is emptied
		if err := c.full.Ping(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := c.disk.keep(); err != nil {
		c.t.Fatal(err)
	}
	store := powered{mortal{c.full, c.life}, c.disk}
	c.inbox.Store = keeping{c.full, c.disk}
	c.runner = &run.Runner{
		Store: store, Model: reader{}, Tools: acting{c.life, &c.acts}, Agent: c.runner.Agent, Grace: c.runner.Grace, Hold: c.hold,
		Platforms: map[string]run.Platform{"board": reached{c.board, c.life}},
	}
	c.start()
}

// keeping is a store to which people's words come: they are acknowledged when they
// are on the disk.
type keeping struct {
	memory.Full
	disk *disk
}

// Put implements memory.Store.
func (k keeping) Put(ctx context.Context, t chat.ThreadID, b memory.Body, ids ...string) (bool, error) {
	fresh, err := k.Full.Put(ctx, t, b, ids...)
	if err == nil {
		err = k.disk.keep()
	}
	return fresh, err
}

// PutRef implements memory.Store.
func (k keeping) PutRef(ctx context.Context, ref chat.MessageRef, b memory.Body, ids ...string) (bool, error) {
	fresh, err := k.Full.PutRef(ctx, ref, b, ids...)
	if err == nil {
		err = k.disk.keep()
	}
	return fresh, err
}

// goes lets things take their course, with another process where the power was cut.
func (c *powerCut) goes(err error) {
	if err != nil {
		c.t.Errorf("boundary %d: %v", c.life.at, err)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	if !c.life.dead.Load() {
		return
	}
	c.stop()
	if err := c.full.Close(); err != nil {
		c.t.Error(err)
	}
	if err := c.disk.cut(); err != nil {
		c.t.Error(err)
	}
	c.life.dead.Store(false)
	c.begin()
	time.Sleep(5 * time.Minute)
	synctest.Wait()
}
