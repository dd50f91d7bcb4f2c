package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// inquiring is a toolbox whose calls ask something and give back what came of it.
type inquiring struct{}

// Call implements run.Toolbox.
func (inquiring) Call(ctx context.Context, desk chat.Desk, _ llm.Call) (llm.Result, error) {
	a, err := desk.Ask(ctx, chat.Question{From: "ops", Text: "Sure?"})
	return llm.Result{Text: strings.TrimSpace("it heard: " + string(a.How))}, err
}

// single is a store that gives one thread to claim, and no other.
type single struct {
	other
	claimed chan *memory.Run
}

// Next implements memory.Store.
func (o single) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	if cap(o.claimed) == len(o.claimed) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r, err := o.Full.Next(ctx, platforms...)
	if err == nil {
		o.claimed <- r
	}
	return r, err
}

// held is what it claimed; it claims no other.
func (o single) held() *memory.Run {
	r := <-o.claimed
	o.claimed <- r
	return r
}

// after is a process that goes on with the thread that the first one held and loses.
func after(t *testing.T, first *world, s single, silent func(string) time.Duration, act policy.Tool) *world {
	t.Helper()
	held := s.held()
	held.Bell.Lose()
	synctest.Wait()
	if err := s.Full.Handoff(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	second := newWorld(t, other{s.Full, "second", silent}, nil, act)
	second.board = first.board
	second.runner.Platforms["board"] = second.board
	return second
}

// A process that lost its thread while a call of it asks something gets the answer
// through the log, from whoever holds the thread by then.
func TestAnswerToAnotherProcess(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		alive := func(string) time.Duration { return 0 }
		s := single{other{store, "first", alive}, make(chan *memory.Run, 1)}
		first := newWorld(t, s, nil, tool("act", false))
		first.runner.Tools = inquiring{}
		first.model.Add("call act {}")
		first.start()
		if err := first.say("go"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		second := after(t, first, s, alive, tool("act", false))
		second.model.Add("expect it heard: accepted\nsay Done.")
		second.start()
		synctest.Wait()
		if err := second.say("yes"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		first.stop()
		second.stop()
		lines := strings.Join(first.board.Lines(), "\n")
		if strings.Count(lines, "notice for requester: ops asks") != 1 || !strings.Contains(lines, "Answered by ada") || !strings.Contains(lines, "answer Done.") {
			t.Errorf("people saw:\n%s", lines)
		}
	})
}

// A call that asks again and again is told that it asked often enough.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, nil, tool("act", false))
		heard := make(chan string, 10)
		w.runner.Tools = often(func(a chat.Answer, err error) {
			if err != nil {
				a.How = chat.How(err.Error())
			}
			heard <- string(a.How)
		})
		w.model.Add("call act {}")
		w.model.Add("say Done.")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		for range chat.MostQuestions {
			synctest.Wait()
			time.Sleep(chat.AnswerWithin + time.Second)
		}
		synctest.Wait()
		w.stop()
		close(heard)
		var got []string
		for h := range heard {
			got = append(got, h)
		}
		want := "unanswered, unanswered, unanswered, it has asked as often as it may in one call"
		if strings.Join(got, ", ") != want {
			t.Errorf("it heard %q, want %q", got, want)
		}
		if lines := strings.Join(w.board.Lines(), "\n"); strings.Count(lines, "notice for requester: ops asks") != chat.MostQuestions || !strings.Contains(lines, "answer Done.") {
			t.Errorf("people saw:\n%s", lines)
		}
	})
}

// forgetful is a store that takes what it then loses.
type forgetful struct {
	memory.Full
	loses func(memory.Body) bool
}

// Put implements memory.Store.
func (f forgetful) Put(ctx context.Context, thread chat.ThreadID, body memory.Body, ids ...string) (bool, error) {
	if f.loses(body) {
		return true, nil
	}
	return f.Full.Put(ctx, thread, body, ids...)
}

// A call whose question the store lost, so that nobody ever reads it, ends all the same.
func TestLostQuestion(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Timeout = time.Minute
		lost := func(b memory.Body) bool { _, asks := b.(memory.Question); return asks }
		w := newWorld(t, forgetful{store, lost}, nil, act)
		w.runner.Tools = inquiring{}
		w.model.Add("call act {}")
		w.model.Add("expect it heard: dropped\nsay Done.")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * chat.AnswerWithin)
		synctest.Wait()
		if lines := strings.Join(w.board.Lines(), "\n"); !strings.Contains(lines, "answer Done.") {
			t.Errorf("people saw:\n%s", lines)
		}
		w.stop()
	})
}

// often is a toolbox whose calls ask until nobody is asked any more.
type often func(chat.Answer, error)

// Call implements run.Toolbox.
func (f often) Call(ctx context.Context, desk chat.Desk, _ llm.Call) (llm.Result, error) {
	for {
		a, err := desk.Ask(ctx, chat.Question{From: "ops", Text: "Sure?"})
		f(a, err)
		if err != nil {
			return llm.Result{Text: "ok"}, nil
		}
	}
}

// A reply to a dead process's question is not lost: the question ends with a word, and
// the model sees the reply.
func TestReplyToADeadProcess(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Timeout = time.Minute
		stuck := make(chan struct{})
		s := single{other{store, "first", nil}, make(chan *memory.Run, 1)}
		first := newWorld(t, s, func(context.Context, llm.Call) (llm.Result, error) {
			<-stuck // as good as dead
			return llm.Result{Text: "ok"}, nil
		}, act)
		first.model.Add("call act {}")
		first.start()
		if err := first.say("go"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var call string
		for _, e := range s.held().Log {
			if b, ok := e.Body.(memory.Started); ok {
				call = b.Call
			}
		}
		q := memory.Question{ID: "q", Call: call, By: "first", Claim: "x", Asks: chat.Question{From: "ops", Text: "Sure?"}}
		if _, err := store.Put(t.Context(), first.thread, q, "q"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		since := time.Now()
		second := after(t, first, s, func(string) time.Duration { return time.Since(since) }, act)
		second.model.Add("expect ada: yes\nexpect outcome unknown\nsay I don't know.")
		second.start()
		synctest.Wait()
		if err := second.say("yes"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(75 * time.Second)
		synctest.Wait()
		close(stuck)
		first.stop()
		second.stop()
		lines := strings.Join(first.board.Lines(), "\n")
		if strings.Count(lines, "notice for requester: ops asks") != 1 || !strings.Contains(lines, "The call ended before there was an answer") || !strings.Contains(lines, "answer I don't know.") {
			t.Errorf("people saw:\n%s", lines)
		}
	})
}
