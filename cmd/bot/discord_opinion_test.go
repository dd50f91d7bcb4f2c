package main

import (
	"path/filepath"
	"slices"
	"testing"

	"nod/adapters/discord"
	"nod/chat"
	"nod/internal/fakediscord"
	"nod/memory"
	"nod/memory/sqlite"
)

// People's opinions of an answer, by buttons and form, are kept with the thread. A
// person who got the form is not asked in words too.
func TestDiscordOpinion(t *testing.T) {
	t.Parallel()
	w := newDiscordWorld(t, fakediscord.Options{NoLimits: true})
	n := newService(t, w, frail, setup{})
	n.start()
	at := w.mention("ada", "hello")
	answer := n.find(at, "You said: hello")
	buttons := w.s.Message(answer.message).Buttons()
	click := func(who string, button int) string {
		id := w.s.Click(w.users[who], answer.message, buttons[button])
		eventually(t, "the click is answered", func() bool { return w.answered(id) })
		return id
	}
	filled := w.s.Fill(click("bob", 1), "too short")
	eventually(t, "the form is answered", func() bool { return w.answered(filled) })
	click("ada", 0)
	n.find(w.mentionIn("ada", at, "and again"), "You said: and again")
	eventually(t, "bob is thanked", func() bool { return slices.Contains(w.told("bob", at), "Noted, thank you.") })
	if told := w.told("bob", at); len(told) != 1 {
		t.Errorf("bob is told %q", told)
	}
	n.stop()
	store, err := sqlite.Open(t.Context(), filepath.Join(filepath.Dir(n.file), "nod.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	log, err := store.Read(t.Context(), chat.ThreadID{Platform: discord.Platform, Channel: at.channel + ":" + at.thread})
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
	if len(got) != 3 || !slices.Contains(got, "bob too short") {
		t.Errorf("kept: %q", got)
	}
}

// answered says whether a click or command was answered in time.
func (w *discordWorld) answered(id string) bool {
	all := w.s.Interactions()
	return !all[slices.IndexFunc(all, func(i fakediscord.Interaction) bool { return i.ID == id })].Acked.IsZero()
}
