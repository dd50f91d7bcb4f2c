package run_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent"
	"nod/agent/facts"
	"nod/agent/policy"
	"nod/chat"
	"nod/internal/crash"
	"nod/internal/script"
	"nod/llm"
	"nod/memory"
)

// tells is a model that is shown whole prompts, and answers by f.
type tells func(prompt string) string

// Complete implements llm.Model.
func (f tells) Complete(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	var all strings.Builder
	for _, m := range r.Messages {
		all.WriteString(m.Text + "\n")
	}
	return llm.Response{Text: f(all.String())}, nil
}

func withFacts(w *world) {
	w.runner.Agent.Facts = policy.Facts{Most: 50, Size: 300}
	w.inbox.Agent = w.runner.Agent
}

// Each of 20 channels and direct conversations knows its own word, in all its threads, and
// no prompt holds that of another. A turn with words of a person of another organisation
// holds none.
func TestFactsStayInTheirChannel(t *testing.T) {
	t.Parallel()
	threads := 3
	if crash.Long() {
		threads = 50
	}
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, nil)
		withFacts(w)
		var prompts atomic.Int64
		w.runner.Model = tells(func(prompt string) string {
			prompts.Add(1)
			_, asked, _ := strings.Cut(prompt, "tell all of ")
			own, _, _ := strings.Cut(asked, ";")
			want := 1
			if strings.HasSuffix(strings.TrimSpace(prompt), "eve: so tell all of C1;") {
				want = 0
			}
			if strings.Count(prompt, "word-") != want || want == 1 && !strings.Contains(prompt, "word-"+own+"-") {
				t.Errorf("asked in %s: %s", own, prompt)
			}
			return "that is all"
		})
		w.start()
		defer w.stop()
		say := func(channel, root, text string, from chat.User) {
			t.Helper()
			thread := chat.ThreadID{Platform: "board", Channel: channel, Root: root}
			ref := chat.MessageRef{Platform: "board", Channel: channel, ID: root + text}
			if _, err := w.inbox.Message(t.Context(), thread, chat.Message{Ref: ref, From: from, Text: text}, channel+root+text); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		ada := chat.User{ID: "ada", Name: "ada"}
		for i := range 20 {
			say(fmt.Sprint("C", i), "0", fmt.Sprintf("remember: word-C%d-end", i), ada)
		}
		for i := range 20 {
			for root := range threads {
				say(fmt.Sprint("C", i), fmt.Sprint(root), fmt.Sprintf("tell all of C%d;", i), ada)
			}
		}
		say("C1", "1", "so tell all of C1;", chat.User{ID: "eve", Name: "eve", Kind: "other organisation"})
		say("C1", "1", "tell again all of C1;", ada)
		say("C2", "0", "remember: word-of-a-guest", chat.User{ID: "gil", Name: "gil", Kind: "guest"})
		say("C2", "guest", "tell all of C2;", ada)
		in, a := w.inbox, *w.runner.Agent
		in.Agent, a.Tools, a.Rooms = &a, policy.Set{tool("act", false)}, map[string]agent.Room{"board:C3": {Without: map[string]bool{"act": true}}}
		for direct, want := range map[string]string{"": "[] 1", "C3": `[1: "word-C3-end" (ada, 1 January 2000)] 0`} {
			visit := chat.Visit{Who: ada, Sees: func(chat.ThreadID) bool { return true }}
			if direct != "" {
				visit.Direct = chat.ThreadID{Platform: "board", Channel: direct}
			}
			if h, err := in.Home(t.Context(), "board", visit); err != nil || fmt.Sprint(h.Facts, len(h.Tools)) != want {
				t.Errorf("of the conversation %q home lists %v and tools %v, %v", direct, h.Facts, h.Tools, err)
			}
		}
		if prompts.Load() != int64(20*threads+3) {
			t.Errorf("%d prompts", prompts.Load())
		}
	})
}

// A forgotten fact leaves not a byte in the store, whether it was written down by a word
// or by a call.
func TestForgottenFact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(ctx context.Context, _ string) (memory.Full, error) { return openFile(ctx, dir) }
	bubbleOn(t, open, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, nil)
		withFacts(w)
		tool := facts.Tool(script.Rules(), w.runner.Agent.Facts)
		tool.Risk = policy.Auto
		w.runner.Agent.Tools = policy.Set{tool}
		w.model.Add(`call remember {"text":"secret of a \"call\""}`)
		w.model.Add("say noted")
		w.start()
		for i, text := range []string{"remember: secret  of a word", "keep what you know", "forget fact 1", "forget fact 2", "facts"} {
			m := chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: fmt.Sprint(i)}, From: chat.User{ID: "ada", Name: "ada"}, Text: text}
			if _, err := w.inbox.Message(t.Context(), w.thread, m); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		w.stop()
		want := []string{"Fact 1 of this channel", "noted", "Fact 1 is forgotten.", "Fact 2 is forgotten.", "Nothing is written down"}
		seen := strings.Join(w.board.Lines(), "\n")
		for _, line := range want {
			if !strings.Contains(seen, line) {
				t.Errorf("nobody saw %q in:\n%s", line, seen)
			}
		}
	})
	holdsNoSecret(t, dir)
}

// holdsNoSecret looks for the text of forgotten facts in the files of a store.
func holdsNoSecret(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "nod.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if i := bytes.Index(raw, []byte("secret")); i >= 0 {
			t.Errorf("%s still holds %q", filepath.Base(f), raw[max(0, i-100):min(len(raw), i+100)])
		}
	}
}

// A process that is killed at any boundary of writing a fact down and forgetting it: people
// are told of both once, and the text is gone.
func TestForgottenFactKilledAtEveryBoundary(t *testing.T) {
	t.Parallel()
	everyBoundary(t, 20, func(n int64) (boundaries int64) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			k := newKilled(t, openFile, dir, false, n)
			withFacts(k.world)
			k.begin()
			for i, text := range []string{"remember: secret", "forget fact 1", "remember: nothing", "facts"} {
				k.goes(time.Minute, func() error {
					_, err := k.inbox.Message(t.Context(), k.thread, chat.Message{
						Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: fmt.Sprint(i)}, From: chat.User{ID: "ada", Name: "ada"}, Text: text, Sent: time.Now(),
					}, fmt.Sprint(i))
					return err
				})
			}
			boundaries = k.life.count.Load()
			k.end()
			lines := strings.Join(k.board.Lines(), "\n")
			for _, once := range []string{`Fact 1 of this channel: "secret"`, "Fact 1 is forgotten.", `Fact 2 of this channel: "nothing"`, `- 2: "nothing"`} {
				if c := strings.Count(lines, once); c != 1 {
					t.Errorf("boundary %d: %d times %q:\n%s", n, c, once, lines)
				}
			}
		})
		holdsNoSecret(t, dir)
		return boundaries
	})
}
