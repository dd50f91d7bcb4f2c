package thread

import (
	"maps"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// Person is who has an id, with the name under which they last wrote here.
func (s *Thread) Person(who chat.UserID) chat.User {
	for _, t := range slices.Backward(s.Turns) {
		for _, m := range t.Msgs {
			if m.From.ID == who {
				return m.From
			}
		}
	}
	return chat.User{ID: who}
}

// Opinion is the last that a person said of a turn's answer.
type Opinion struct {
	By    chat.User
	Good  bool
	Text  string          // what was wrong
	On    chat.MessageRef // where they said so
	Asked bool            // a form asks them, or has asked, what was wrong
}

// takeOpinion replaces an earlier opinion of the same person. The text stays as long as
// the verdict does.
func (t *Turn) takeOpinion(now Opinion) {
	for i, o := range t.Opinions {
		if o.By.ID != now.By.ID {
			continue
		}
		if now.Text == "" && now.Good == o.Good {
			now.Text = o.Text
		}
		now.Asked = now.Asked || o.Asked
		t.Opinions[i] = now
		return
	}
	t.Opinions = append(t.Opinions, now)
}

func (s *Thread) takeThumb(r memory.Reaction) {
	if r.By.Bot || r.Emoji != chat.EmojiGood && r.Emoji != chat.EmojiBad {
		return
	}
	t := s.AnsweredBy(r.On)
	switch good := r.Emoji == chat.EmojiGood; {
	case t == nil:
	case r.Removed:
		t.Opinions = slices.DeleteFunc(t.Opinions, func(o Opinion) bool {
			return o.By.ID == r.By.ID && o.Good == good && o.Text == ""
		})
	default:
		t.takeOpinion(Opinion{By: r.By, Good: good, On: r.On})
	}
}

func (s *Thread) takeFeedback(b memory.Feedback) {
	if t := s.AnsweredBy(b.On); t != nil && !b.By.Bot {
		t.takeOpinion(Opinion{By: b.By, Good: b.Good, Text: b.Text, On: b.On, Asked: true})
	}
}

// takeBelongs takes the groups of a person, as the platform named them.
func (s *Thread) takeBelongs(at time.Time, b memory.Belongs) {
	if c := s.Calls[b.Call]; c != nil {
		c.Use.Givers, c.Use.Identified = put(c.Use.Givers, b.Who, b), at
	} else if t := s.Turn(b.Turn); t != nil && b.Call == "" {
		t.Belongs = put(t.Belongs, b.Who, b)
	} else if i := slices.IndexFunc(s.Inbox.Commands, func(c *Command) bool { return c.Seq == b.Turn }); i >= 0 {
		s.Inbox.Commands[i].Is = b
	}
}

// IsOff says whether people switched a tool off in this thread. A name stands for all
// tools that begin with it: `tools off wikipedia` switches several off.
func (s *Thread) IsOff(tool string) bool {
	for name := range s.Folk.Off {
		if StandsFor(tool, name) {
			return true
		}
	}
	return false
}

// StandsFor says whether the name in a command means a tool.
func StandsFor(tool, name string) bool {
	return strings.EqualFold(tool, name) || len(tool) > len(name) && strings.EqualFold(tool[:len(name)+1], name+"_")
}

// OffList lists the names that people switched off.
func (s *Thread) OffList() []string { return slices.Sorted(maps.Keys(s.Folk.Off)) }

// mostModels is how many choices are kept: the program may know the last ones no more.
const mostModels = 8

// chooseModel takes a model for the thread; `default` takes all choices back.
func (s *Thread) chooseModel(name string) {
	switch name {
	case "":
	case "default":
		s.Folk.Models = nil
	default:
		rest := Without(s.Folk.Models, func(other string) bool { return other == name })
		s.Folk.Models = append([]string{name}, rest[:min(len(rest), mostModels-1)]...)
	}
}

func (s *Thread) switchTool(word, name string) {
	if word == "tools off" {
		s.Folk.Off[name] = true
		return
	}
	maps.DeleteFunc(s.Folk.Off, func(off string, _ bool) bool { return StandsFor(off, name) || StandsFor(name, off) })
}
