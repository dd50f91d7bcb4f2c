package agent

import (
	"slices"

	"nod/chat"
	"nod/memory"
)

// opinion is what a person thinks of a turn's answer, by the last that they said
// of it.
type opinion struct {
	by    chat.User
	good  bool
	text  string          // what was wrong
	on    chat.MessageRef // where they said so
	asked bool            // a form asks them, or has asked, what was wrong
}

// thumb takes a reaction for what it says of an answer, or no longer says.
func (s *state) thumb(r memory.Reaction) {
	if r.By.Bot || r.Emoji != chat.EmojiGood && r.Emoji != chat.EmojiBad {
		return
	}
	t := s.answeredBy(r.On)
	switch good := r.Emoji == chat.EmojiGood; {
	case t == nil:
	case r.Removed:
		t.opinions = slices.DeleteFunc(t.opinions, func(o opinion) bool {
			return o.by.ID == r.By.ID && o.good == good && o.text == ""
		})
	default:
		t.thinks(opinion{by: r.By, good: good, on: r.On})
	}
}

// feedback takes what somebody said of an answer by a button, or in the form.
func (s *state) feedback(b memory.Feedback) {
	if t := s.answeredBy(b.On); t != nil && !b.By.Bot {
		t.thinks(opinion{by: b.By, good: b.Good, text: b.Text, on: b.On, asked: true})
	}
}

// thinks replaces what a person thought before. What they wrote stays with the
// verdict that it was written to.
func (t *turn) thinks(now opinion) {
	for i, o := range t.opinions {
		if o.by.ID != now.by.ID {
			continue
		}
		if now.text == "" && now.good == o.good {
			now.text = o.text
		}
		now.asked = now.asked || o.asked
		t.opinions[i] = now
		return
	}
	t.opinions = append(t.opinions, now)
}

// answeredBy finds the turn of which a message is the answer.
func (s *state) answeredBy(ref chat.MessageRef) *turn {
	if ref.IsZero() {
		return nil
	}
	for _, t := range slices.Backward(s.turns) {
		if s.posted[t.answerName()] == ref {
			return t
		}
	}
	return nil
}

// askWhy asks whoever thinks badly of an answer what was wrong with it: once, and
// not when a form does.
func (d *decision) askWhy() Action {
	for _, t := range d.s.turns {
		for _, o := range t.opinions {
			key := "why/" + t.name + "/" + string(o.by.ID)
			if !o.good && !o.asked && o.text == "" && !d.s.has(key) {
				return AskWhy{To: o.by, On: o.on, Key: key}
			}
		}
	}
	return nil
}
