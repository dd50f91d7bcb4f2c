package fakeslack

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Message is a message as people see it now, with what it said before.
type Message struct {
	At       time.Time
	Channel  string
	TS       string
	Thread   string // ts of the root, on the root too; empty without a thread
	User     string
	BotID    string
	Subtype  string
	Text     string
	Blocks   json.RawMessage
	Metadata json.RawMessage
	Files    []File
	// Reactions holds who reacted, by the name of the emoji.
	Reactions map[string][]string
	Edits     []Version // earlier contents, oldest first
	Deleted   bool
}

// Bot says whether the bot under test wrote it.
func (m Message) Bot() bool { return m.BotID == BotID }

// Version is what a message once said.
type Version struct {
	Text     string
	Blocks   json.RawMessage
	Metadata json.RawMessage
}

// Delivery is an event or an interaction, and how it fared.
type Delivery struct {
	ID       string // of the event, or the trigger id of an interaction
	Kind     string // events_api, interactive, slash_commands
	Name     string // message, reaction_added, block_actions …
	Frames   int    // how often it was sent
	Sent     time.Time
	Acked    time.Time // zero: never
	Lost     bool      // given up without an ack
	Response json.RawMessage
}

// Messages gives the messages of a thread with its root first, or with an
// empty thread all that the channel itself shows; deleted ones included.
func (s *Server) Messages(channel, thread string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.rooms.channels[channel]
	if ch == nil {
		return nil
	}
	all := ch.top
	if thread != "" {
		all = ch.threads[thread]
		if root := ch.byTS[thread]; root != nil {
			all = append([]*message{root}, all...)
		}
	}
	var out []Message
	for _, m := range all {
		out = append(out, m.public(ch.ID))
	}
	return out
}

// Message gives one message; false where there never was one.
func (s *Server) Message(channel, ts string) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.rooms.channels[channel]
	if ch == nil || ch.byTS[ts] == nil {
		return Message{}, false
	}
	return ch.byTS[ts].public(channel), true
}

func (m *message) public(channel string) Message {
	out := Message{
		At: m.at, Channel: channel, TS: m.ts, Thread: m.thread, User: m.user, BotID: m.botID, Subtype: m.subtype,
		Text: m.text, Blocks: m.blocks, Metadata: m.metadata, Edits: slices.Clone(m.edits), Deleted: m.deleted,
		Reactions: map[string][]string{},
	}
	for _, r := range m.reactions {
		out.Reactions[r.name] = slices.Clone(r.users)
	}
	for _, f := range m.files {
		out.Files = append(out.Files, File{ID: f.id, Name: f.name, Title: f.title, MediaType: f.mediaType, Data: f.data})
	}
	return out
}

// Reactions gives who reacted to a message, by the name of the emoji.
func (s *Server) Reactions(channel, ts string) map[string][]string {
	m, _ := s.Message(channel, ts)
	return m.Reactions
}

// Ephemerals gives what only one person was shown.
func (s *Server) Ephemerals(user string) []Ephemeral {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Ephemeral
	for _, e := range s.desk.ephemerals {
		if e.User == user {
			out = append(out, e)
		}
	}
	return out
}

// Statuses gives every change of a thread's status line.
func (s *Server) Statuses(channel, thread string) []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Status
	for _, st := range s.desk.statuses {
		if st.Channel == channel && st.Thread == thread {
			out = append(out, st)
		}
	}
	return out
}

// Status gives what the status line of a thread says now.
func (s *Server) Status(channel, thread string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status(channel, thread)
}

// Session gives the status of a thread's agent session; empty where there is
// none.
func (s *Server) Session(channel, thread string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.desk.state[channel+" "+thread]
}

// Processing lists the threads, as channel and timestamp, whose session says that
// the bot is at work.
func (s *Server) Processing() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for where, state := range s.desk.state {
		if state == "processing" {
			out = append(out, where)
		}
	}
	slices.Sort(out)
	return out
}

// Sessions gives every change of a thread's agent session.
func (s *Server) Sessions(channel, thread string) []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Session
	for _, x := range s.desk.sessions {
		if x.Channel == channel && x.Thread == thread {
			out = append(out, x)
		}
	}
	return out
}

// Title gives the title of an assistant thread or session.
func (s *Server) Title(channel, thread string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.desk.titles[channel+" "+thread]
}

// Prompts gives the suggested prompts of a thread, or of a direct conversation
// where thread is empty.
func (s *Server) Prompts(channel, thread string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.desk.prompts[channel+" "+thread]
}

// Views gives the modals and home tabs that a person has.
func (s *Server) Views(user string) []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []View
	for _, id := range slices.Sorted(maps.Keys(s.desk.views)) {
		if v := s.desk.views[id]; v.User == user {
			out = append(out, *v)
		}
	}
	return out
}

// Calls gives the calls of a method in the order in which they were answered,
// or of all methods where it is empty.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == "" {
		return slices.Clone(s.record.calls)
	}
	var out []Call
	for _, i := range s.record.byMethod[method] {
		out = append(out, s.record.calls[i])
	}
	return out
}

// Called is how many calls of a method were answered.
func (s *Server) Called(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.record.byMethod[method])
}

// Violations gives what no correct program does.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.record.violations)
}

// RateLimited is how many calls exceeded a limit; planned faults don't count.
func (s *Server) RateLimited() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.rateLimited
}

// Deliveries gives everything that was sent to the app, or was to be.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Delivery
	for _, d := range s.wire.deliveries {
		out = append(out, Delivery{
			ID: d.id, Kind: d.kind, Name: d.name, Frames: d.frames, Sent: d.sent, Acked: d.acked, Lost: d.lost, Response: d.response,
		})
	}
	return out
}

// Unacked is how many deliveries are neither acknowledged nor given up.
func (s *Server) Unacked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.wire.deliveries) - s.wire.acked - s.wire.lost
}

// GiveUp gives up all that is not acknowledged, as Slack does after a while.
func (s *Server) GiveUp() {
	defer s.change()()
	for _, d := range s.wire.deliveries {
		if !d.done() {
			s.giveUp(d)
		}
	}
}

// Lost is how many deliveries were given up without an ack.
func (s *Server) Lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wire.lost
}
