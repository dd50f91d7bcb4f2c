package main

import (
	"path/filepath"
	"slices"
	"testing"

	"nod/adapters/slack"
	"nod/chat"
	"nod/internal/fakeslack"
	"nod/memory"
	"nod/memory/sqlite"
)

// People's opinions of an answer, by buttons and form, are kept with the thread. A
// person who got the form is not asked in words too. A reaction opens no form, so its
// author gets one by the button of a message to them.
func TestSlackOpinion(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{})
	n.start()
	at := w.mention("ada", "hello")
	answer := n.find(at, "You said: hello")
	w.s.Click("U0BOB", fakeslack.Action{Channel: answer.channel, TS: answer.message, ActionID: "nod_opinion", Value: "negative"})
	eventually(t, "a form opens", func() bool { return len(w.s.Views("U0BOB")) == 1 })
	w.s.Submit("U0BOB", w.s.Views("U0BOB")[0].ID, map[string]map[string]any{"reason": {"reason": map[string]any{"type": "plain_text_input", "value": "too short"}}})
	w.s.Click("U0ADA", fakeslack.Action{Channel: answer.channel, TS: answer.message, ActionID: "nod_opinion", Value: "positive"})
	w.react("eve", answer.place, "👎")
	eventually(t, "eve is asked", func() bool { return len(w.told("eve", at)) > 0 })
	w.s.Click("U0EVE", fakeslack.Action{Channel: at.channel, TS: w.s.Ephemerals("U0EVE")[0].TS, ActionID: "nod_tell"})
	eventually(t, "a form opens for eve", func() bool { return len(w.s.Views("U0EVE")) == 1 })
	w.s.Submit("U0EVE", w.s.Views("U0EVE")[0].ID, map[string]map[string]any{"reason": {"reason": map[string]any{"type": "plain_text_input", "value": "too blunt"}}})
	eventually(t, "all of it arrived", func() bool { return w.s.Unacked() == 0 })
	n.find(w.mentionIn("ada", at, "and again"), "You said: and again")
	if told := w.told("bob", at); len(told) > 0 {
		t.Errorf("bob is asked in words too: %q", told)
	}
	n.stop()
	store, err := sqlite.Open(t.Context(), filepath.Join(filepath.Dir(n.file), "nod.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	log, err := store.Read(t.Context(), chat.ThreadID{Platform: slack.Platform, Channel: "T0TEAM:" + at.channel, Root: at.thread})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range log {
		if f, ok := e.Body.(memory.Feedback); ok {
			got = append(got, f.By.Name+" "+f.Text)
			if f.Good != (f.By.Name == "ada") || f.On.ID != answer.message {
				t.Errorf("kept as %+v", f)
			}
		}
	}
	if told := w.told("eve", at); len(told) != 1 {
		t.Errorf("eve is asked %d times: %q", len(told), told)
	}
	if len(got) != 4 || !slices.Contains(got, "bob too short") || !slices.Contains(got, "eve too blunt") {
		t.Errorf("kept: %q", got)
	}
}
