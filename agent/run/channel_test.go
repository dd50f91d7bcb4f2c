package run_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nod/adapters/slack/api"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/chat"
	"nod/chat/outbox"
	"nod/internal/script"
	"nod/llm"
	"nod/memory"
)

// strait is a platform that allows a post a second in a channel, as Slack does. It notes
// when each post stood.
type strait struct {
	*script.Board
	out  *outbox.Outbox
	late time.Duration // until it says that a steps message stands

	mu    sync.Mutex
	posts map[string][]chat.Post // by the root of the thread
	last  time.Time              // when the last answer stood
}

func newStrait(b *script.Board) *strait {
	out := outbox.New(outbox.Options{Budget: func(bucket string) outbox.Budget { return api.Budget(bucket, nil, 1) }})
	return &strait{Board: b, out: out, posts: map[string][]chat.Post{}}
}

// Able implements run.Platform.
func (*strait) Able() chat.Able { return chat.Able{Pace: time.Second, Crowd: true} }

// Post implements run.Drawer.
func (n *strait) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (ref chat.MessageRef, err error) {
	call := outbox.Call{Priority: outbox.UrgencyOf(p), Group: thread.String(), Buckets: []string{"chat.postMessage", "chat.postMessage " + thread.Channel}}
	call.Run = func(ctx context.Context) (err error) {
		ref, err = n.Board.Post(ctx, thread, p, look)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.posts[thread.Root] = append(n.posts[thread.Root], p)
		if p.Text != nil {
			n.last = time.Now()
		}
		return err
	}
	err = n.out.Do(ctx, call)
	if p.Steps != nil && n.late > 0 {
		select {
		case <-time.After(n.late):
		case <-ctx.Done():
			return chat.MessageRef{}, ctx.Err()
		}
	}
	return ref, err
}

// saw is the posts of a thread, in a few words.
func (n *strait) saw(root string) (out []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.posts[root] {
		switch {
		case p.Steps != nil:
			out = append(out, "steps")
		case p.Text != nil && p.Text.Steps != nil:
			s := p.Text.Steps
			out = append(out, fmt.Sprintf("%s (%s, done %v: %s)", p.Text.Markdown, s.Status, s.Done, s.Items[0].Calls[0].State))
		case p.Text != nil:
			out = append(out, p.Text.Markdown)
		case p.Approval != nil:
			out = append(out, "card")
		}
	}
	return out
}

// curious is a model that makes one call of a tool, and answers.
type curious struct{}

// Complete implements llm.Model.
func (curious) Complete(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role != llm.User {
		return llm.Response{Text: "It is noon.", Finish: "stop"}, nil
	}
	name := "clock"
	if strings.Contains(last.Text, "act") {
		name = "act"
	}
	return llm.Response{Calls: []llm.Call{{ID: "1", Name: name, Args: `{}`}}, Finish: "tool_calls"}, nil
}

// foreseeing are tools whose previews take two seconds.
type foreseeing struct{ run.Toolbox }

// Preview implements run.Previewer.
func (foreseeing) Preview(ctx context.Context, _ chat.Desk, _ llm.Call) (chat.Preview, error) {
	select {
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
	}
	return chat.Preview{Text: "would act"}, ctx.Err()
}

// begins puts a question that begins a thread.
func (w *world) begins(channel, root, text string) {
	w.t.Helper()
	thread := chat.ThreadID{Platform: "board", Channel: channel, Root: root}
	id := root + text
	_, err := w.inbox.Message(w.t.Context(), thread, chat.Message{
		Ref: chat.MessageRef{Platform: "board", Channel: channel, ID: id}, From: chat.User{ID: "ada", Name: "ada"}, Text: text, Sent: time.Now(),
	}, id)
	if err != nil {
		w.t.Fatal(err)
	}
}

// crowding gives a world whose one tool takes that long, on a platform that allows a post a
// second in a channel.
func crowding(t *testing.T, store memory.Full, takes time.Duration) (*world, *strait) {
	w := newWorld(t, store, func(ctx context.Context, _ llm.Call) (llm.Result, error) {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
		return llm.Result{Text: "12:00"}, ctx.Err()
	}, tool("clock", true))
	desk := newStrait(w.board)
	w.runner.Model, w.runner.Platforms["board"] = curious{}, desk
	return w, desk
}

// Where two other turns of a channel run, a turn has no steps message, also when another
// process goes on with it: its answer carries the steps, or the word that it was stopped.
// Turns of other channels don't count.
func TestCrowdedChannel(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w, desk := crowding(t, store, time.Minute)
		w.start()
		for i := range 4 {
			w.begins("c", strconv.Itoa(i), "What time is it?")
			time.Sleep(5 * time.Second)
		}
		w.begins("other", "4", "What time is it?")
		time.Sleep(5 * time.Second)
		w.begins("c", "3", "stop")
		time.Sleep(5 * time.Second)
		w.stop()
		w.start()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.stop()
		for root, want := range [][]string{
			{"steps", "It is noon."},
			{"steps", "It is noon."},
			{"It is noon. (Done, done true: done)"},
			{"Stopped by ada. (Stopped, done true: cancelled)"},
			{"steps", "It is noon."},
		} {
			if got := desk.saw(strconv.Itoa(root)); !slices.Equal(got, want) {
				t.Errorf("in thread %d people saw %q, want %q", root, got, want)
			}
		}
	})
}

// A thread that is answered, and only folds its steps yet, leaves room for those of others.
func TestCrowdedFolding(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w, desk := crowding(t, store, time.Second)
		w.board.Folds(time.Minute)
		w.start()
		for i := range 4 {
			w.begins("c", strconv.Itoa(i), "What time is it?")
			time.Sleep(5 * time.Second)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.stop()
		if got := desk.saw("3"); !slices.Equal(got, []string{"steps", "It is noon."}) {
			t.Errorf("people saw %q", got)
		}
	})
}

// A steps message that may stand already is looked for, and not left out, by the process
// that goes on with the turn.
func TestCrowdedRestart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w, desk := crowding(t, store, 2*time.Minute)
		desk.late = time.Minute
		w.start()
		for i := range 3 {
			w.begins("c", strconv.Itoa(i), "What time is it?")
			time.Sleep(5 * time.Second)
		}
		w.stop()
		w.start()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		w.stop()
		for root, want := range [][]string{
			{"steps", "steps", "It is noon."}, // found by the second
			{"steps", "steps", "It is noon."},
			{"It is noon. (Done, done true: done)"},
		} {
			if got := desk.saw(strconv.Itoa(root)); !slices.Equal(got, want) {
				t.Errorf("in thread %d people saw %q, want %q", root, got, want)
			}
		}
	})
}

// A call that waits for people has its card alone where the channel is crowded. A turn whose
// first words are its last has a steps message there too: nothing is lost.
func TestCrowdedApproval(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w, desk := crowding(t, store, time.Minute)
		act := tool("act", false)
		act.Risk, act.Rules, act.Preview = policy.Ask, script.Rules(), true
		w.runner.Agent.Tools, w.runner.Tools = append(w.runner.Agent.Tools, act), foreseeing{w.runner.Tools}
		w.start()
		for i, text := range []string{"What time is it?", "What time is it?", "act"} {
			w.begins("c", strconv.Itoa(i), text)
			time.Sleep(5 * time.Second)
		}
		w.begins("c", "3", "act")
		time.Sleep(time.Second)
		w.begins("c", "3", "stop")
		time.Sleep(5 * time.Second)
		ask, _ := w.board.Find("act")
		if _, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}, "vote"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.stop()
		for root, want := range map[string][]string{
			"2": {"card", "It is noon. (Done, done true: done)"},
			"3": {"steps", "Stopped by ada."},
		} {
			if got := desk.saw(root); !slices.Equal(got, want) {
				t.Errorf("in thread %s people saw %q, want %q", root, got, want)
			}
		}
	})
}

// Twelve questions at once in one channel, with a tool each, are all answered as soon as the
// platform allows twelve posts and those of the first two turns' steps.
func TestCrowdedAnswers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w, desk := crowding(t, store, time.Second)
		w.start()
		began := time.Now()
		for i := range 12 {
			w.begins("c", strconv.Itoa(i), "What time is it?")
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.stop()
		for i := range 12 {
			if got := desk.saw(strconv.Itoa(i)); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "It is noon.") {
				t.Errorf("in thread %d people saw %q", i, got)
			}
		}
		if took := desk.last.Sub(began); took > 13200*time.Millisecond {
			t.Errorf("the last answer came after %v", took)
		}
	})
}
