package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// narrow is a model that takes less than the budget says.
type narrow struct {
	most    int // bytes of a prompt
	refused int
	fault   llm.Fault
	tool    string // called first in each turn, where it is not empty
}

func (n *narrow) Complete(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	size := 0
	for _, m := range req.Messages {
		size += len(m.Text)
	}
	if size > n.most {
		n.refused++
		return llm.Response{}, &llm.Error{Fault: n.fault, Status: 400}
	}
	last := req.Messages[len(req.Messages)-1]
	if n.tool != "" && last.Role == llm.User {
		return llm.Response{Calls: []llm.Call{{ID: fmt.Sprint("c", size), Name: n.tool, Args: "{}"}}}, nil
	}
	return llm.Response{Text: "answer " + strings.Repeat("word ", 20)}, nil
}

// A thread outgrows what the model takes, which is less than the budget: less of it is
// sent, nobody has to make it forget, and it is not tried out at every call. What is too
// long by itself is said to be, and the next question is answered.
func TestOutgrowsTheModel(t *testing.T) {
	t.Parallel()
	for called, words := range map[string]string{"": "too long for the model", "look": "too long for the model", "unknown": "the model refused the request"} {
		t.Run("calls "+called, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, store memory.Full) {
				w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) {
					return llm.Result{Text: strings.Repeat("seen ", 60)}, nil
				}, tool("look", true))
				m := &narrow{most: 4000, tool: called, fault: llm.TooLong}
				if called == "unknown" { // the words with which it refuses
					m.tool, m.fault = "", llm.Refused
				}
				w.runner.Model = m
				w.start()
				ask := func(text string) string {
					if err := w.say(text); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					lines := w.board.Lines()
					return lines[len(lines)-1]
				}
				for i := range 40 {
					got := ask(fmt.Sprint(i, strings.Repeat(" why", 50)))
					if strings.Contains(got, words) {
						t.Fatalf("question %d: %s", i, got)
					}
				}
				if m.refused == 0 || m.refused > 15 {
					t.Errorf("%d prompts were refused", m.refused)
				}
				if got := ask("x" + strings.Repeat(" why", 1200)); !strings.Contains(got, words) {
					t.Errorf("too long by itself: %s", got)
				}
				if got := ask("and now?"); strings.Contains(got, words) {
					t.Errorf("the next question: %s", got)
				}
				w.stop()
			})
		})
	}
}

// A refusal that has nothing to do with the length costs one more call, and nothing of the
// thread is left out for it.
func TestRefusesHalfToo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, nil)
		m := &narrow{most: 1 << 20, fault: llm.Refused}
		w.runner.Model = m
		w.start()
		for i := range 5 {
			if i == 3 {
				m.most = 0
			}
			if err := w.say(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		w.stop()
		log, err := store.Read(t.Context(), w.thread)
		if err != nil {
			t.Fatal(err)
		}
		if m.refused != 4 || slices.ContainsFunc(log, func(e memory.Entry) bool { _, cut := e.Body.(memory.Trimmed); return cut }) {
			t.Errorf("%d refusals of two questions, log %v", m.refused, log)
		}
	})
}

// poisoned is a model that refuses any prompt that holds a word.
type poisoned struct{ refusal llm.Error }

func (p *poisoned) Complete(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	for _, m := range req.Messages {
		if strings.Contains(m.Text, "poison") {
			refusal := p.refusal
			return llm.Response{}, &refusal
		}
	}
	return llm.Response{Text: "fine"}, nil
}

// A question that the model refuses for what it holds, in whatever way, keeps no later one
// from being answered.
func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	for _, refusal := range []llm.Error{
		{Fault: llm.Refused, Status: 400},
		{Fault: llm.Refused, Status: 413},
		{Fault: llm.Refused, Status: 422},
		{Fault: llm.TooLong, Status: 400},
		{Fault: llm.TooLong, Status: 413},
		{Fault: llm.Filtered, Status: 400},
		{Fault: llm.Filtered, Status: 403},
	} {
		t.Run(fmt.Sprint(refusal.Fault, refusal.Status), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, store memory.Full) {
				w := newWorld(t, store, nil)
				w.runner.Model = &poisoned{refusal}
				w.start()
				blob, err := store.PutBlob(t.Context(), w.thread, []byte("plan"))
				if err != nil {
					t.Fatal(err)
				}
				_, err = w.inbox.Message(t.Context(), w.thread, chat.Message{
					Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: "file"}, From: chat.User{ID: "ada", Name: "ada"}, Text: "hello",
					Files: []chat.File{{Name: "plan.txt", MediaType: "text/plain", Size: 4, Text: "plan", Blob: blob}},
				}, "file")
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				said := ""
				for _, text := range []string{"and", "so", "on", "poison", "and now?", "and then?", "artifacts"} {
					if err := w.say(text); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					said += text + ": " + strings.Join(w.board.Lines(), " ") + "\n"
				}
				w.stop()
				if !strings.Contains(said, "and now?: answer fine") || !strings.Contains(said, "and then?: answer fine") {
					t.Errorf("the thread is stuck:\n%s", said)
				}
				if _, held, _ := strings.Cut(said, "artifacts: "); !strings.Contains(held, "plan.txt") {
					t.Errorf("the thread lost its file:\n%s", said)
				}
			})
		})
	}
}
