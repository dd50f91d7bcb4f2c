package speak

import (
	"regexp"
	"strings"

	"nod/llm"
)

// form is how a text protocol writes a turn; it may count the turn's steps.
type form interface {
	question(said string) string
	step(do Doing) string
	answer(text string) string
	end(last bool) string // where the model goes on
}

// converse makes the messages of a text protocol: the turns before as an
// exchange, and the current one as a single message, which grows at its end.
// frame is what stands before its question, now is its form and before makes
// those of the others.
func converse(p Prompt, frame string, now form, before func() form) []llm.Message {
	var t talk
	t.say(llm.System, p.System)
	for _, e := range p.Examples {
		t.say(llm.User, e.User)
		t.say(llm.Assistant, before().answer(e.Assistant))
	}
	t.say(llm.User, p.Left)
	var current []Item
	for i, items := range p.Turns {
		if i == len(p.Turns)-1 {
			current = items
			break
		}
		t.earlier(items, before())
	}
	text, images := unfinished(current, now)
	t.add(llm.Message{Role: llm.User, Text: frame + text + now.end(p.LastCall), Images: images})
	return t.messages
}

// unfinished writes the current turn. What people wrote meanwhile stands where
// the model learnt of it.
func unfinished(items []Item, f form) (text string, images []llm.Image) {
	var b strings.Builder
	var asked bool // the last line is a question
	for i, it := range items {
		if i > 0 {
			b.WriteString("\n")
		}
		switch {
		case it.Step != nil:
			b.WriteString(f.step(*it.Step))
			images = append(images, it.Step.Images...)
		case it.Answer != "":
			b.WriteString(f.answer(it.Answer))
		case asked:
			b.WriteString(quoted(it.Said))
		default:
			b.WriteString(f.question(quoted(it.Said)))
		}
		asked = it.Step == nil && it.Answer == ""
		images = append(images, it.Images...)
	}
	return b.String(), images
}

// talk is a list of messages in which nobody speaks twice in a row: many chat
// templates refuse that.
type talk struct{ messages []llm.Message }

func (t *talk) say(role llm.Role, text string) {
	if text != "" {
		t.add(llm.Message{Role: role, Text: text})
	}
}

func (t *talk) add(m llm.Message) {
	n := len(t.messages)
	if n == 0 || t.messages[n-1].Role != m.Role {
		t.messages = append(t.messages, m)
		return
	}
	last := &t.messages[n-1]
	last.Text += "\n" + m.Text
	last.Images = append(last.Images, m.Images...)
}

// earlier adds a turn that is over.
func (t *talk) earlier(items []Item, f form) {
	for _, it := range items {
		switch {
		case it.Step != nil:
			t.say(llm.Assistant, f.step(*it.Step))
		case it.Answer != "":
			t.say(llm.Assistant, f.answer(it.Answer))
		default:
			t.add(llm.Message{Role: llm.User, Text: it.Said, Images: it.Images})
		}
	}
}

var templateLine = regexp.MustCompile(`(?m)^(Question|Thought|Action|Action Input|Observation|Final Answer)( \d+)?:[ \t]*\S`)

// quoted marks the lines of a text that would pass for the model's own: who
// writes a page that a tool reads must not write the model's thoughts. It is a
// help, not a wall: what a call may do is decided elsewhere.
func quoted(text string) string { return templateLine.ReplaceAllString(text, "> $0") }
