package discord

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"nod/adapters/discord/api"
	"nod/front"
	"nod/internal/ledger"
)

// shown draws a message of an app: each part that people see says a word of its own.
type shown struct {
	t     *rapid.T
	words []string
}

type object = map[string]any

func (s *shown) word() string {
	s.words = append(s.words, fmt.Sprintf("word%dx", len(s.words)))
	return s.words[len(s.words)-1]
}

// maybe draws whether something is there.
func (s *shown) maybe(o object, key string, one func() any) {
	if rapid.Bool().Draw(s.t, key) {
		o[key] = one()
	}
}

// some draws up to three.
func some[T any](s *shown, one func() T) (out []T) {
	for range rapid.IntRange(0, 3).Draw(s.t, "so many") {
		out = append(out, one())
	}
	return out
}

func (s *shown) text() any { return "**" + s.word() + "**" }

func (s *shown) embed() object {
	e := object{"type": "rich", "title": s.word()}
	s.maybe(e, "description", s.text)
	s.maybe(e, "author", func() any { return object{"name": s.word()} })
	s.maybe(e, "footer", func() any { return object{"text": s.word()} })
	s.maybe(e, "fields", func() any {
		return some(s, func() object { return object{"name": s.word(), "value": s.text(), "inline": true} })
	})
	return e
}

func (s *shown) button() object {
	return object{"type": 2, "style": 5, "label": s.word(), "url": "https://b.example/" + s.word()}
}

func (s *shown) component() object {
	display := func() object { return object{"type": 10, "content": s.text()} }
	switch rapid.SampledFrom([]string{"row", "display", "section", "container"}).Draw(s.t, "kind") {
	case "row":
		return object{"type": 1, "components": some(s, s.button)}
	case "section":
		return object{"type": 9, "components": some(s, display), "accessory": s.button()}
	case "container":
		return object{"type": 17, "components": some(s, display)}
	}
	return display()
}

func (s *shown) message() object {
	m := object{"id": "5", "channel_id": "6", "author": object{"id": "9", "username": "app", "bot": true}}
	s.maybe(m, "content", s.text)
	s.maybe(m, "embeds", func() any { return some(s, s.embed) })
	s.maybe(m, "components", func() any { return some(s, s.component) })
	s.maybe(m, "sticker_items", func() any { return []object{{"name": s.word()}} })
	s.maybe(m, "poll", func() any {
		answer := func() object {
			media := object{"text": s.word()}
			s.maybe(media, "emoji", func() any { return object{"name": s.word()} })
			return object{"poll_media": media}
		}
		return object{"question": object{"text": s.word()}, "answers": some(s, answer)}
	})
	return m
}

// All that a message of an app shows is read, and once, also where it is forwarded or
// answered.
func TestEveryWordIsRead(t *testing.T) { rapid.Check(t, everyWord) }

func FuzzEveryWordIsRead(f *testing.F) { f.Fuzz(rapid.MakeFuzz(everyWord)) }

func everyWord(t *rapid.T) {
	a, err := New(Options{Token: "x", Common: front.Common{Inbox: ledger.New()}, APIURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	a.self.me.Store(&api.User{ID: "1", Username: "nod"})
	s := &shown{t: t}
	m := s.message()
	s.maybe(m, "message_snapshots", func() any { return []object{{"message": s.message()}} })
	if rapid.Bool().Draw(t, "answers") {
		m["type"], m["referenced_message"] = 19, s.message()
	}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := api.ReadMessage(raw)
	if err != nil {
		t.Fatal(err)
	}
	read := a.words(got).Readable(got.Said())
	for _, q := range a.quoted(got) {
		read += "\n" + q.Text
	}
	for _, w := range s.words {
		if n := strings.Count(read, w); n != 1 {
			t.Errorf("%s is read %d times in %q\nof %s", w, n, read, raw)
		}
	}
}
