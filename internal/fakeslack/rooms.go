package fakeslack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what sort of conversation a channel is, in the words of the
// channel_type field of message events.
type Kind string

// The kinds of conversation.
const (
	Public  Kind = "channel"
	Private Kind = "group"
	MPIM    Kind = "mpim"
	IM      Kind = "im"
)

// Channel is a conversation. A public one when Kind is empty.
type Channel struct {
	ID       string
	Name     string
	Kind     Kind
	Members  []string
	Archived bool
	Shared   bool // with another organisation
}

// channel is a conversation with its messages, oldest first.
type channel struct {
	Channel
	all     []*message
	top     []*message // what the channel itself shows
	byTS    map[string]*message
	threads map[string][]*message // replies by root
}

// message is one message, as it stands.
type message struct {
	ts, thread  string // thread: ts of the root, also on the root; empty without a thread
	subtype     string
	user, botID string
	username    string
	text        string
	clientID    string
	blocks      json.RawMessage
	attachments json.RawMessage
	metadata    json.RawMessage
	files       []*file
	reactions   []*reaction
	editor      string // who edited last
	editedTS    string
	edits       []Version
	broadcast   bool
	deleted     bool
	streaming   bool
	at          time.Time
}

type reaction struct {
	name  string
	users []string
}

type rooms struct {
	channels map[string]*channel
	order    []string
}

func newRooms() rooms { return rooms{channels: map[string]*channel{}} }

// isReply says whether the message stands in a thread of another one.
func (m *message) isReply() bool { return m.thread != "" && m.thread != m.ts }

func (m *message) reaction(name string) *reaction {
	for _, r := range m.reactions {
		if r.name == name {
			return r
		}
	}
	return nil
}

func (c *channel) has(user string) bool { return slices.Contains(c.Members, user) }

// find gives a message that is still there.
func (c *channel) find(ts string) *message {
	m := c.byTS[ts]
	if m == nil || m.deleted {
		return nil
	}
	return m
}

// add puts a new message at the end.
func (c *channel) add(m *message) {
	c.all = append(c.all, m)
	c.byTS[m.ts] = m
	if m.isReply() {
		c.threads[m.thread] = append(c.threads[m.thread], m)
		if root := c.byTS[m.thread]; root != nil {
			root.thread = root.ts
		}
	}
	if !m.isReply() || m.broadcast {
		c.top = append(c.top, m)
	}
}

// replies are the replies of a thread that are still there.
func (c *channel) replies(root string) []*message {
	var out []*message
	for _, m := range c.threads[root] {
		if !m.deleted {
			out = append(out, m)
		}
	}
	return out
}

func (s *Server) addChannel(c Channel) *channel {
	if c.Kind == "" {
		c.Kind = Public
	}
	c.Members = slices.Clone(c.Members)
	ch := &channel{Channel: c, byTS: map[string]*message{}, threads: map[string][]*message{}}
	s.rooms.channels[c.ID] = ch
	s.rooms.order = append(s.rooms.order, c.ID)
	return ch
}

// AddChannel adds a conversation.
func (s *Server) AddChannel(c Channel) {
	defer s.change()()
	s.addChannel(c)
}

// Archive makes a channel read-only.
func (s *Server) Archive(channel string) {
	defer s.change()()
	s.channel(channel).Archived = true
}

// DM gives the id of the direct conversation between the bot and a person,
// which comes into being at its first use.
func (s *Server) DM(user string) string {
	defer s.change()()
	return s.dm(s.user(user).ID).ID
}

func (s *Server) dm(user string) *channel {
	id := "D" + strings.TrimLeft(user, "UW")
	if c := s.rooms.channels[id]; c != nil {
		return c
	}
	return s.addChannel(Channel{ID: id, Kind: IM, Members: []string{user, BotUser}})
}

// channel gives a conversation, or panics: the test names none.
func (s *Server) channel(id string) *channel {
	c := s.rooms.channels[id]
	if c == nil {
		panic("fakeslack: no channel " + id)
	}
	return c
}

// mintTS gives the next timestamp: microseconds, never the same twice.
func (s *Server) mintTS() string {
	t := s.now().UnixMicro()
	if t <= s.lastTS {
		t = s.lastTS + 1
	}
	s.lastTS = t
	return fmt.Sprintf("%d.%06d", t/1e6, t%1e6)
}

// parseTS reads a timestamp, whole seconds included.
func parseTS(ts string) (int64, bool) {
	sec, frac, _ := strings.Cut(ts, ".")
	if len(frac) > 6 || sec == "" {
		return 0, false
	}
	micros, err := strconv.ParseInt(sec+frac+"000000"[len(frac):], 10, 64)
	return micros, err == nil && micros >= 0
}

// render gives the message object, as the Web API and the events have it.
func (s *Server) render(c *channel, m *message, withMetadata bool) reply {
	out := reply{"type": "message", "text": m.text, "ts": m.ts, "team": s.teamOf(m.user)}
	put := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	put("subtype", m.subtype)
	put("user", m.user)
	put("bot_id", m.botID)
	put("username", m.username)
	put("client_msg_id", m.clientID)
	if m.botID != "" {
		s.renderBot(out, m)
	}
	for key, raw := range map[string]json.RawMessage{"blocks": m.blocks, "attachments": m.attachments} {
		if len(raw) > 0 {
			out[key] = raw
		}
	}
	if withMetadata && len(m.metadata) > 0 {
		out["metadata"] = m.metadata
	}
	if m.editedTS != "" {
		out["edited"] = reply{"user": m.editor, "ts": m.editedTS}
	}
	if len(m.files) > 0 {
		var files []reply
		for _, f := range m.files {
			if f.later {
				files = append(files, reply{"id": f.id, "created": f.at.Unix(), "file_access": "check_file_info"})
				continue
			}
			files = append(files, s.renderFile(f))
		}
		out["files"], out["upload"] = files, false
	}
	if r := renderReactions(m); len(r) > 0 {
		out["reactions"] = r
	}
	s.renderThread(out, c, m)
	return out
}

func (s *Server) renderBot(out reply, m *message) {
	app := App
	if m.botID != BotID {
		app = "A" + m.botID[1:]
	}
	out["app_id"] = app
	name := m.username
	if u := s.people.byBotID(m.botID); u != nil {
		name = u.Name
	}
	out["bot_profile"] = reply{"id": m.botID, "app_id": app, "name": name, "deleted": false, "team_id": Team}
}

func (s *Server) renderThread(out reply, c *channel, m *message) {
	if m.thread == "" {
		return
	}
	out["thread_ts"] = m.thread
	if m.isReply() {
		if root := c.byTS[m.thread]; root != nil && root.user != "" {
			out["parent_user_id"] = root.user
		}
		return
	}
	replies := c.replies(m.ts)
	if len(replies) == 0 {
		return
	}
	var users []string
	for _, r := range replies {
		if r.user != "" && !slices.Contains(users, r.user) && len(users) < 5 {
			users = append(users, r.user)
		}
	}
	out["reply_count"], out["reply_users"], out["reply_users_count"] = len(replies), users, len(users)
	out["latest_reply"], out["is_locked"], out["subscribed"] = replies[len(replies)-1].ts, false, true
}

func renderReactions(m *message) []reply {
	var out []reply
	for _, r := range m.reactions {
		out = append(out, reply{"name": r.name, "users": slices.Clone(r.users), "count": len(r.users)})
	}
	return out
}

// renderChannel gives the conversation object of the Web API.
func (s *Server) renderChannel(c *channel) reply {
	out := reply{
		"id": c.ID, "created": 1700000000, "is_archived": c.Archived, "is_im": c.Kind == IM, "is_mpim": c.Kind == MPIM,
		"is_channel": c.Kind == Public, "is_group": c.Kind == Private, "is_private": c.Kind != Public,
		"is_general": c.Name == "general", "is_shared": false, "is_ext_shared": c.Shared, "is_org_shared": false,
		"context_team_id": Team, "updated": 1700000000000,
	}
	if c.Kind == IM {
		out["user"] = c.Members[0]
		return out
	}
	out["name"], out["name_normalized"], out["is_member"] = c.Name, c.Name, c.has(BotUser)
	out["creator"], out["shared_team_ids"] = "U0ADA", []string{Team}
	out["topic"], out["purpose"] = reply{"value": ""}, reply{"value": ""}
	return out
}
