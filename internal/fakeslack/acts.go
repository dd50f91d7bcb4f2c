package fakeslack

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Upload is a file that a person attaches.
type Upload struct {
	Name      string
	MediaType string // default by the name
	Data      []byte
	Thumb     []byte // the picture of at most 1024 pixels that Slack makes of it, a PNG
	Later     bool   // events tell its id only, as of files of other organisations; files.info tells the rest
}

// Line is what somebody writes, as Slack's wire has it: <@U1> mentions, and &,
// < and > are escaped.
type Line struct {
	User      string // who writes; empty for an incoming webhook
	Bot       string // id of the webhook, B…
	Username  string // what the webhook calls itself
	Channel   string
	Thread    string // ts of the root
	Text      string
	Files     []Upload
	Broadcast bool // a reply that the channel shows too
	// Attachments is a JSON array, as alerts of other apps have it.
	Attachments json.RawMessage
	Blocks      json.RawMessage // of an app; what a person types has its own
}

// Say has a person write in a channel, and gives the timestamp.
func (s *Server) Say(user, channel, text string) string {
	return s.Write(Line{User: user, Channel: channel, Text: text})
}

// Reply has a person write in a thread, and gives the timestamp.
func (s *Server) Reply(user, channel, thread, text string) string {
	return s.Write(Line{User: user, Channel: channel, Thread: thread, Text: text})
}

// Write has somebody write, and gives the timestamp.
func (s *Server) Write(l Line) string {
	if l.User == "" && l.Bot == "" && l.Username == "" {
		panic("fakeslack: nobody writes " + l.Text)
	}
	defer s.change()()
	ch := s.channel(l.Channel)
	m := &message{
		user: l.User, botID: l.Bot, username: l.Username, thread: l.Thread, text: l.Text, broadcast: l.Broadcast,
		attachments: l.Attachments,
	}
	switch {
	case l.User == "":
		m.subtype = "bot_message"
	case s.user(l.User).Bot:
		m.botID = s.user(l.User).BotID
	default:
		m.clientID = s.uuid()
	}
	m.blocks = l.Blocks
	if l.Text != "" && l.User != "" && l.Blocks == nil {
		m.blocks = richText(l.Text)
	}
	for _, up := range l.Files {
		f := s.newFile(up.Name, l.User)
		f.data, f.uploaded, f.shared, f.channels = up.Data, true, true, []string{ch.ID}
		if up.MediaType != "" {
			f.mediaType = up.MediaType
		}
		f.thumb, f.later = up.Thumb, up.Later
		m.files, m.subtype = append(m.files, f), "file_share"
	}
	if l.Thread != "" && l.Broadcast {
		m.subtype = "thread_broadcast"
	}
	s.say(ch, m)
	return m.ts
}

// Forward lets a person pass a message on, with or without words of their own, and
// returns the timestamp. The original stands in an attachment, with its files.
func (s *Server) Forward(l Line, channel, ts string) string {
	s.mu.Lock()
	from, m := s.message(channel, ts)
	a := reply{
		"ts": m.ts, "channel_id": from.ID, "channel_name": from.Name, "channel_team": Team, "is_msg_unfurl": true, "is_share": true,
		"author_id": m.user, "text": m.text, "fallback": "[" + m.ts + "] " + m.text, "from_url": permalink(from, m),
		"footer": "Posted in #" + from.Name, "mrkdwn_in": []string{"text"}, "id": 1,
		"message_blocks": []reply{{"team": Team, "channel": from.ID, "ts": m.ts, "message": reply{"blocks": m.blocks}}},
	}
	if u := s.people.users[m.user]; u != nil {
		a["author_name"], a["author_subname"] = cmp.Or(u.RealName, u.Name), u.Name
	}
	var files []reply
	for _, f := range m.files {
		files = append(files, s.renderFile(f))
	}
	if files != nil {
		a["files"] = files
	}
	l.Attachments, _ = json.Marshal([]reply{a}) // strings and maps of them always marshal
	s.mu.Unlock()
	return s.Write(l)
}

// Unfurl adds attachments to a message, as Slack does for links some time after it came:
// nobody changed the text, and the message bears no mark of an edit.
func (s *Server) Unfurl(channel, ts string, attachments json.RawMessage) {
	defer s.change()()
	ch, m := s.message(channel, ts)
	before := s.render(ch, m, true)
	m.attachments = attachments
	s.emitChanged(ch, s.render(ch, m, true), before)
}

// message gives a message that is there, or panics: the test names none.
func (s *Server) message(channel, ts string) (*channel, *message) {
	ch := s.channel(channel)
	m := ch.find(ts)
	if m == nil {
		panic("fakeslack: no message " + ts + " in " + channel)
	}
	return ch, m
}

// Edit has a person change what they wrote. Where the new text mentions the
// bot, Slack sends an app_mention too, marked as edited.
func (s *Server) Edit(user, channel, ts, text string) {
	defer s.change()()
	ch, m := s.message(channel, ts)
	s.theirs(m, user)
	s.revise(ch, m, content{text: text, blocks: richText(text)}, user)
	s.emitMention(ch, m)
}

// Delete has a person delete what they wrote.
func (s *Server) Delete(user, channel, ts string) {
	defer s.change()()
	ch, m := s.message(channel, ts)
	s.theirs(m, user)
	s.remove(ch, m)
}

func (s *Server) theirs(m *message, user string) {
	if m.user != user {
		panic("fakeslack: message " + m.ts + " is not " + user + "'s")
	}
}

// React has a person put an emoji on a message, by Slack's name for it and
// with a skin tone where there is one: "+1::skin-tone-2".
func (s *Server) React(user, channel, ts, name string) {
	defer s.change()()
	ch, m := s.message(channel, ts)
	if code := m.cannotReact(s.user(user).ID, name); code != "" {
		panic("fakeslack: " + user + " can't react: " + code)
	}
	s.react(ch, m, user, name)
}

// Unreact has a person take an emoji back.
func (s *Server) Unreact(user, channel, ts, name string) {
	defer s.change()()
	ch, m := s.message(channel, ts)
	if !s.unreact(ch, m, user, name) {
		panic("fakeslack: " + user + " has not reacted with " + name)
	}
}

// Join brings somebody into a channel, the bot for example; the channel shows
// a line that says so.
func (s *Server) Join(user, channel string) {
	defer s.change()()
	s.enter(s.channel(channel), s.user(user).ID)
}

func (s *Server) enter(ch *channel, user string) {
	if ch.has(user) {
		return
	}
	ch.Members = append(ch.Members, user)
	if ch.has(BotUser) && s.subscribed("member_joined_channel") {
		s.emit("member_joined_channel", reply{
			"type": "member_joined_channel", "user": user, "channel": ch.ID, "channel_type": ch.ID[:1], "team": Team,
		})
	}
	s.say(ch, &message{user: user, subtype: "channel_join", text: "<@" + user + "> has joined the channel"})
}

// Leave takes somebody out of a channel.
func (s *Server) Leave(user, channel string) {
	defer s.change()()
	ch := s.channel(channel)
	ch.Members = slices.DeleteFunc(ch.Members, func(u string) bool { return u == user })
}

// OpenHome has a person look at the app, at its tab home, messages or about.
func (s *Server) OpenHome(user, tab string) {
	defer s.change()()
	event := reply{"type": "app_home_opened", "user": s.user(user).ID, "channel": s.dm(user).ID, "tab": tab}
	if v := s.desk.homes[user]; v != nil && tab == "home" {
		event["view"] = s.renderView(v)
	}
	if s.subscribed("app_home_opened") {
		s.emit("app_home_opened", event)
	}
}

// LookAt has a person look at a channel while the app is open beside it.
func (s *Server) LookAt(user, channel string) {
	defer s.change()()
	if !s.subscribed("app_context_changed") {
		return
	}
	s.emit("app_context_changed", reply{
		"type": "app_context_changed", "user": s.user(user).ID, "channel": s.dm(user).ID,
		"context": reply{"entities": []reply{{
			"type": "slack#/types/channel_id", "value": s.channel(channel).ID, "team_id": Team,
		}}},
	})
}

// StartAssistant has a person open a thread of the older assistant view, and
// gives the thread.
func (s *Server) StartAssistant(user string) string {
	defer s.change()()
	ch := s.dm(s.user(user).ID)
	m := &message{user: BotUser, botID: BotID, subtype: "assistant_app_thread", text: "New Assistant Thread"}
	m.ts, m.at = s.mintTS(), s.now()
	m.thread = m.ts
	ch.add(m)
	if s.subscribed("assistant_thread_started") {
		s.emit("assistant_thread_started", reply{
			"type": "assistant_thread_started",
			"assistant_thread": reply{
				"user_id": user, "context": reply{}, "channel_id": ch.ID, "thread_ts": m.ts,
			},
		})
	}
	return m.ts
}

// StopSession has a person press the stop button of an agent session, which is
// there only while the session is processing. What streams in its thread ends; the
// session stays at processing, until the app says otherwise.
func (s *Server) StopSession(user, channel, thread string) {
	defer s.change()()
	ch := s.channel(channel)
	var halted []string
	for _, m := range append([]*message{ch.byTS[thread]}, ch.replies(thread)...) {
		if m != nil && m.streaming {
			m.streaming = false
			halted = append(halted, m.ts)
		}
	}
	if halted == nil && s.desk.state[channel+" "+thread] != "processing" {
		panic("fakeslack: there is no stop button in " + channel + " " + thread)
	}
	event := reply{
		"type": "agent_session_stopped", "user": s.user(user).ID, "channel": ch.ID, "thread_ts": thread,
	}
	if halted != nil {
		event["streaming_message_ts"] = halted
	}
	if s.subscribed("agent_session_stopped") {
		s.emit("agent_session_stopped", event)
	}
}

// Escape gives the wire form of plain text.
func Escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
