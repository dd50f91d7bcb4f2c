package fakeslack

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a message (https://docs.slack.dev/reference/methods/chat.postMessage,
// https://docs.slack.dev/reference/methods/chat.update).
const (
	maxText       = 40000 // longer text is cut
	maxUpdateText = 4000  // bytes, where everything else is characters
	maxMarkdown   = 12000
	maxMetadata   = 16000
	maxAttached   = 100
)

// content is the content of a message.
type content struct {
	text                          string
	blocks, attachments, metadata json.RawMessage
}

func postMessage(s *Server, c *call) (reply, error) {
	ch, err := s.writable(c.args["channel"])
	if err != nil {
		return nil, err
	}
	in, err := s.content(c, maxText)
	if err != nil {
		return nil, err
	}
	m := &message{
		user: BotUser, botID: BotID, username: c.args["username"], text: in.text, blocks: in.blocks,
		attachments: in.attachments, metadata: in.metadata, broadcast: c.args.truth("reply_broadcast"),
	}
	if m.thread, err = s.root(ch, c); err != nil {
		return nil, err
	}
	if m.thread != "" && m.broadcast {
		m.subtype = "thread_broadcast"
	}
	s.say(ch, m)
	return reply{"channel": ch.ID, "ts": m.ts, "message": s.render(ch, m, true)}, nil
}

// writable gives the conversation that the bot wants to write in. The id of a
// user means the direct conversation with them.
func (s *Server) writable(id string) (*channel, error) {
	if u := s.people.users[id]; u != nil && id != BotUser {
		return s.dm(id), nil
	}
	ch := s.rooms.channels[id]
	switch {
	case ch == nil, ch.Kind != Public && !ch.has(BotUser):
		return nil, refuse("channel_not_found")
	case ch.Archived:
		return nil, refuse("is_archived")
	case !ch.has(BotUser):
		return nil, refuse("not_in_channel")
	}
	return ch, nil
}

// root gives the root of the thread that a call names. A thread whose root was
// deleted can still be written in; one that never was is a mistake.
func (s *Server) root(ch *channel, c *call) (string, error) {
	ts := c.args["thread_ts"]
	if ts == "" {
		return "", nil
	}
	m := ch.byTS[ts]
	switch {
	case m == nil:
		return "", breach("invalid_thread_ts", "thread_ts %q names no message of %s", ts, ch.ID)
	case m.isReply():
		s.violate(c.method, "thread_ts names a reply instead of its thread's root")
		return m.thread, nil
	}
	return ts, nil
}

// content reads and judges what a call wants to say.
func (s *Server) content(c *call, most int) (content, error) {
	in := content{text: c.args["text"]}
	md := c.args["markdown_text"]
	var err error
	if in.blocks, err = jsonArray(c, "blocks", "invalid_blocks_format"); err != nil {
		return in, err
	}
	if in.attachments, err = jsonArray(c, "attachments", "invalid_attachments"); err != nil {
		return in, err
	}
	if in.metadata, err = metadata(c); err != nil {
		return in, err
	}
	switch {
	case md != "" && (in.text != "" || in.blocks != nil):
		return in, breach("markdown_text_conflict", "markdown_text together with text or blocks")
	case utf8.RuneCountInString(md) > maxMarkdown:
		return in, breach("msg_too_long", "markdown_text has more than %d characters", maxMarkdown)
	case len(in.text) > most && most < maxText:
		return in, breach("msg_too_long", "text has more than %d bytes", most)
	case md == "" && strings.TrimSpace(in.text) == "" && in.blocks == nil && in.attachments == nil:
		return in, breach("no_text", "nothing to say")
	}
	if r := []rune(in.text); len(r) > maxText {
		s.violate(c.method, "text has more than 40000 characters and was cut")
		in.text = string(r[:maxText])
	}
	if md != "" {
		in.text = md
		in.blocks, _ = json.Marshal([]reply{{"type": "markdown", "text": md}}) // strings always marshal
	}
	return in, checkBlocks(in.blocks, inMessage)
}

// jsonArray reads an argument that holds a JSON array; nil where it is absent
// or empty.
func jsonArray(c *call, name, code string) (json.RawMessage, error) {
	text := strings.TrimSpace(c.args[name])
	if text == "" || text == "null" {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, breach(code, "%s is not a JSON array: %v", name, err)
	}
	if name == "attachments" && len(items) > maxAttached {
		return nil, breach("too_many_attachments", "%d attachments", len(items))
	}
	if len(items) == 0 {
		return nil, nil
	}
	return json.RawMessage(text), nil
}

func metadata(c *call) (json.RawMessage, error) {
	text := strings.TrimSpace(c.args["metadata"])
	if text == "" || text == "null" || text == "{}" && c.method == "chat.update" {
		return nil, nil
	}
	var m struct {
		EventType    string          `json:"event_type"`
		EventPayload json.RawMessage `json:"event_payload"`
		Entities     json.RawMessage `json:"entities"`
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, breach("invalid_metadata_format", "metadata: %v", err)
	}
	if m.Entities == nil && (m.EventType == "" || !strings.HasPrefix(string(m.EventPayload), "{")) {
		return nil, breach("invalid_metadata_schema", "metadata wants event_type and an object event_payload")
	}
	if len(text) > maxMetadata {
		return nil, breach("metadata_too_large", "metadata has %d bytes", len(text))
	}
	return json.RawMessage(text), nil
}

// own gives a message that the bot may change; other names the error where it
// is somebody else's.
func (s *Server) own(c *call, other string) (*channel, *message, error) {
	ch := s.rooms.channels[c.args["channel"]]
	if ch == nil || ch.Kind != Public && !ch.has(BotUser) {
		return nil, nil, refuse("channel_not_found")
	}
	m := ch.find(c.args["ts"])
	if m == nil {
		return nil, nil, refuse("message_not_found")
	}
	if m.botID != BotID {
		return nil, nil, breach(other, "the message is not the bot's")
	}
	return ch, m, nil
}

func updateMessage(s *Server, c *call) (reply, error) {
	ch, m, err := s.own(c, "cant_update_message")
	if err != nil {
		return nil, err
	}
	if m.streaming {
		return nil, breach("streaming_state_conflict", "the message is streaming")
	}
	if w := s.opt.EditWindow; w > 0 && s.now().Sub(m.at) > w {
		return nil, refuse("edit_window_closed")
	}
	in, err := s.content(c, maxUpdateText)
	if err != nil {
		return nil, err
	}
	in.keep(m, c.args)
	s.revise(ch, m, in, BotUser)
	return reply{"channel": ch.ID, "ts": m.ts, "text": m.text, "message": s.render(ch, m, true)}, nil
}

// keep fills in the parts that an update leaves out: attachments and metadata if they
// are not given, blocks only if no text is given either. An empty object removes
// metadata.
func (in *content) keep(m *message, args Args) {
	if _, given := args["blocks"]; !given && in.text == "" {
		in.blocks = m.blocks
	}
	if _, given := args["attachments"]; !given {
		in.attachments = m.attachments
	}
	if _, given := args["metadata"]; !given {
		in.metadata = m.metadata
	}
}

// revise replaces what a message says and lets everybody know.
func (s *Server) revise(ch *channel, m *message, in content, by string) {
	before := s.render(ch, m, true)
	m.edits = append(m.edits, Version{Text: m.text, Blocks: m.blocks, Metadata: m.metadata})
	m.text, m.blocks, m.attachments, m.metadata = in.text, in.blocks, in.attachments, in.metadata
	m.editor, m.editedTS = by, s.mintTS()
	s.emitChanged(ch, s.render(ch, m, true), before)
}

func deleteMessage(s *Server, c *call) (reply, error) {
	ch, m, err := s.own(c, "cant_delete_message")
	if err != nil {
		return nil, err
	}
	s.remove(ch, m)
	return reply{"channel": ch.ID, "ts": m.ts}, nil
}

// remove deletes a message. The root of a thread leaves a tombstone, so that
// its replies keep their place.
func (s *Server) remove(ch *channel, m *message) {
	before := s.render(ch, m, true)
	if !m.isReply() && len(ch.replies(m.ts)) > 0 {
		m.edits = append(m.edits, Version{Text: m.text, Blocks: m.blocks, Metadata: m.metadata})
		m.subtype, m.user, m.botID, m.clientID = "tombstone", "USLACKBOT", "", ""
		m.text, m.blocks, m.attachments, m.metadata = "This message was deleted.", nil, nil, nil
		m.files, m.reactions = nil, nil
		s.emitChanged(ch, s.render(ch, m, true), before)
		return
	}
	m.deleted = true
	s.emitDeleted(ch, m, before)
}

func postEphemeral(s *Server, c *call) (reply, error) {
	ch, err := s.writable(c.args["channel"])
	if err != nil {
		return nil, err
	}
	in, err := s.content(c, maxText)
	if err != nil {
		return nil, err
	}
	to := c.args["user"]
	if !ch.has(to) {
		return nil, refuse("user_not_in_channel")
	}
	root, err := s.root(ch, c)
	if err != nil {
		return nil, err
	}
	e := Ephemeral{
		At: s.now(), Channel: ch.ID, Thread: root, User: to, TS: s.mintTS(), Text: in.text, Blocks: in.blocks,
	}
	s.desk.ephemerals = append(s.desk.ephemerals, e)
	return reply{"message_ts": e.TS}, nil
}

func getPermalink(s *Server, c *call) (reply, error) {
	ch := s.rooms.channels[c.args["channel"]]
	if ch == nil {
		return nil, refuse("channel_not_found")
	}
	m := ch.find(c.args["message_ts"])
	if m == nil {
		return nil, refuse("message_not_found")
	}
	return reply{"channel": ch.ID, "permalink": permalink(ch, m)}, nil
}

func permalink(ch *channel, m *message) string {
	link := "https://fake.slack.com/archives/" + ch.ID + "/p" + strings.ReplaceAll(m.ts, ".", "")
	if m.isReply() {
		link += "?thread_ts=" + m.thread + "&cid=" + ch.ID
	}
	return link
}

// say puts a new message into a conversation and lets everybody know.
func (s *Server) say(ch *channel, m *message) {
	m.ts, m.at = s.mintTS(), s.now()
	ch.add(m)
	if m.botID == BotID && m.thread != "" {
		s.clearStatus(ch.ID, m.thread)
	}
	s.emitMessage(ch, m)
}

// streams last this long, whatever is appended to them.
const streamLife = 5 * time.Minute
