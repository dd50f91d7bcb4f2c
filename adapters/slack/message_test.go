package slack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"nod/adapters/slack/api"
	"nod/chat"
)

// shown draws a message of an app: each part that people see says a word of its own.
type shown struct {
	t     *rapid.T
	words []string
	line  string // a word that is a line for itself
}

type object = map[string]any

func (s *shown) word() string {
	s.words = append(s.words, fmt.Sprintf("word%dx", len(s.words)))
	return s.words[len(s.words)-1]
}

func (s *shown) text() object { return object{"type": "mrkdwn", "text": "*" + s.word() + "*"} }

func (s *shown) plain() object { return object{"type": "plain_text", "text": s.word(), "emoji": true} }

func (s *shown) button() object {
	return object{"type": "button", "action_id": "a", "text": s.plain(), "url": "https://b.example/" + s.word()}
}

// some draws up to three.
func some[T any](s *shown, one func() T) (out []T) {
	for range rapid.IntRange(0, 3).Draw(s.t, "so many") {
		out = append(out, one())
	}
	return out
}

func (s *shown) rich() object {
	said := func() object { return object{"type": "text", "text": s.word() + " "} }
	line := func(kind string) object {
		return object{"type": kind, "elements": append(some(s, said), object{"type": "link", "url": "https://l.example", "text": s.word()})}
	}
	list := object{"type": "rich_text_list", "style": "bullet", "elements": some(s, func() object { return line("rich_text_section") })}
	list["elements"] = append(list["elements"].([]object), object{"type": "rich_text_section", "elements": []object{
		{"type": "usergroup", "usergroup_id": s.word()},
		{"type": "text", "text": " "},
		{"type": "channel", "channel_id": s.word()},
		{"type": "date", "timestamp": 1, "format": "{date}", "fallback": " " + s.word()},
	}})
	return object{"type": "rich_text", "elements": []object{line("rich_text_section"), list, line("rich_text_quote"), line("rich_text_preformatted")}}
}

func (s *shown) block() object {
	switch rapid.SampledFrom([]string{"section", "section", "header", "context", "actions", "image", "rich", "table"}).Draw(s.t, "kind") {
	case "section":
		b := object{"type": "section", "text": s.text(), "fields": some(s, s.text)}
		if rapid.Bool().Draw(s.t, "accessory") {
			b["accessory"] = s.button()
		}
		return b
	case "header":
		b := object{"type": "header", "text": s.plain()}
		s.line = s.words[len(s.words)-1]
		return b
	case "context":
		return object{"type": "context", "elements": some(s, s.text)}
	case "actions":
		return object{"type": "actions", "elements": some(s, s.button)}
	case "image":
		return object{"type": "image", "image_url": "https://i.example/x.png", "alt_text": "", "title": s.plain()}
	case "table":
		cell := func() object { return object{"type": "raw_text", "text": s.word()} }
		return object{"type": "table", "rows": some(s, func() []object { return append(some(s, cell), cell()) })}
	}
	return s.rich()
}

func (s *shown) attachment() object {
	field := func() object { return object{"title": s.word(), "value": s.word(), "short": true} }
	a := object{"fallback": "in short", "color": "danger"}
	if rapid.Bool().Draw(s.t, "link") {
		a["title_link"] = "https://t.example/" + s.word()
	}
	a["actions"] = some(s, func() object {
		return object{"type": "button", "text": s.word(), "url": "https://a.example/" + s.word()}
	})
	for _, key := range []string{"pretext", "author_name", "title", "text", "footer"} {
		if key == "title" || rapid.Bool().Draw(s.t, key) {
			a[key] = s.word()
		}
	}
	a["fields"] = some(s, field)
	return a
}

// All that a message of an app shows is read, and once.
func TestEveryWordIsRead(t *testing.T) { rapid.Check(t, everyWord) }

func FuzzEveryWordIsRead(f *testing.F) { f.Fuzz(rapid.MakeFuzz(everyWord)) }

func everyWord(t *rapid.T) {
	s := &shown{t: t}
	blocks := some(s, s.block)
	text := s.word() + " is down"
	if s.line != "" && rapid.Bool().Draw(t, "twice") { // apps repeat a line of their blocks
		text += "\n" + s.line
	}
	raw := func(v any) json.RawMessage {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	ev := api.Event{BotID: "B0APP", Text: text, Blocks: raw(blocks), Attachments: raw(some(s, s.attachment))}
	read := testWords.readable(textOf(ev))
	for _, q := range testWords.passedOn(ev, chat.User{}) {
		read += "\n" + q.From.Name + " " + q.Text
	}
	for _, w := range s.words {
		if n := strings.Count(read, w); n != 1 {
			t.Errorf("%s is read %d times in %q\nof %q, %s and %s", w, n, read, ev.Text, ev.Blocks, ev.Attachments)
		}
	}
}
