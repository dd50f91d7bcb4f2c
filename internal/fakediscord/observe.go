package fakediscord

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// File is an attachment. People give Name, Data and Type (text/plain when
// empty).
type File struct {
	ID   string
	Name string
	Type string
	URL  string
	Data []byte
	// Seconds is how long it is, of a voice message.
	Seconds float64
}

// Emoji is a Unicode emoji by Name, or a guild's own by Name and ID.
type Emoji struct{ ID, Name string }

// Reaction is one person's reaction.
type Reaction struct {
	User  string
	Emoji Emoji
	Burst bool // a super reaction
}

// Message is a message with its history.
type Message struct {
	ID         string
	Channel    string
	Author     string
	Type       int
	Flags      int
	Content    string
	Components json.RawMessage // with the ids that Discord gives them; absent: null
	Embeds     json.RawMessage
	Files      []File
	ReplyTo    string
	Nonce      string
	Thread     string   // the thread that it began
	Reader     string   // who alone sees it; empty unless ephemeral
	Pings      []string // whom it pinged: ids of people and roles, "everyone"
	Past       []string // its contents before each edit
	Created    time.Time
	Edited     time.Time // zero: never
	Deleted    bool
}

// Text is everything that a reader sees of a message as text: the content, and
// the texts and labels of its components.
func (m Message) Text() string {
	parts := []string{}
	if m.Content != "" {
		parts = append(parts, m.Content)
	}
	var components any
	if json.Unmarshal(m.Components, &components) == nil {
		walk(components, func(c map[string]any) {
			for _, key := range []string{"content", "label"} {
				if s, ok := c[key].(string); ok {
					parts = append(parts, s)
				}
			}
		})
	}
	return strings.Join(parts, "\n")
}

// Buttons gives the custom ids of a message's components, in order.
func (m Message) Buttons() []string {
	var out []string
	var components any
	if json.Unmarshal(m.Components, &components) == nil {
		walk(components, func(c map[string]any) {
			if id, ok := c["custom_id"].(string); ok {
				out = append(out, id)
			}
		})
	}
	return out
}

// walk shows f every component, the outer before the inner.
func walk(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			walk(e, f)
		}
	case map[string]any:
		f(v)
		walk(v["components"], f)
		walk(v["component"], f)
		walk(v["accessory"], f)
	}
}

// view copies a message for a test.
func (m *message) view() Message {
	v := m.Message
	v.Channel, v.Author = m.channel.id, m.author.id
	v.Components, v.Embeds = raw(m.components), raw(m.embeds)
	if m.thread != nil {
		v.Thread = m.thread.id
	}
	v.Files, v.Pings, v.Past = slices.Clone(m.Files), slices.Clone(m.Pings), slices.Clone(m.Past)
	return v
}

// Messages gives every message of a channel, oldest first, also those that
// were deleted. Ephemeral ones are in [Server.Ephemerals].
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	if c := s.channels[channel]; c != nil {
		for _, m := range c.messages {
			out = append(out, m.view())
		}
	}
	return out
}

// Posts gives what the bot wrote in a channel and did not delete.
func (s *Server) Posts(channel string) []Message {
	return slices.DeleteFunc(s.Messages(channel), func(m Message) bool {
		return m.Author != s.bot.id || m.Deleted || m.Type == threadStarter
	})
}

// Message gives one message, ephemeral ones too; the zero Message when there
// is none.
func (s *Server) Message(id string) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.messages[id]; m != nil {
		return m.view()
	}
	return Message{}
}

// Ephemerals gives the messages that only this person sees, oldest first.
func (s *Server) Ephemerals(user string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.messages {
		if m.Reader == user && !m.Deleted {
			out = append(out, m.view())
		}
	}
	slices.SortFunc(out, func(a, b Message) int { return cmp.Compare(number(a.ID), number(b.ID)) })
	return out
}

// Reactions gives the reactions on a message, by emoji in the order in which
// the emoji appeared.
func (s *Server) Reactions(id string) []Reaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Reaction
	if m := s.messages[id]; m != nil {
		for _, r := range m.reactions {
			for _, u := range r.normal {
				out = append(out, Reaction{User: u, Emoji: r.emoji})
			}
			for _, u := range r.burst {
				out = append(out, Reaction{User: u, Emoji: r.emoji, Burst: true})
			}
		}
	}
	return out
}

// Thread is a thread of a guild's channel.
type Thread struct {
	ID, Parent, Name, Owner string
	Members                 []string
	Archived, Locked        bool
}

// Threads gives the threads of a channel, oldest first.
func (s *Server) Threads(channel string) []Thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c == nil || c.guild == nil {
		return nil
	}
	var out []Thread
	for _, id := range c.guild.channels {
		if t := s.channels[id]; t.parent == c {
			out = append(out, Thread{
				ID: t.id, Parent: c.id, Name: t.name, Owner: t.owner,
				Members: slices.Clone(t.members), Archived: t.archived, Locked: t.locked,
			})
		}
	}
	return out
}

// Commands gives the names of the global application commands, in the order of
// registration.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, c := range s.commands {
		name, _ := c["name"].(string)
		out = append(out, name)
	}
	return out
}

// Pings gives every ping that the bot's messages caused: whom, in the order of
// the messages of a channel.
func (s *Server) Pings(channel string) []string {
	var out []string
	for _, m := range s.Messages(channel) {
		if m.Author == s.bot.id {
			out = append(out, m.Pings...)
		}
	}
	return out
}
