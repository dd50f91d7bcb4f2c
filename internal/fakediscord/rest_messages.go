package fakediscord

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// mostMessages is how many messages one request may give.
const mostMessages = 100

var (
	missingAccess      = refusal(http.StatusForbidden, 50001, "Missing Access")
	missingPermissions = refusal(http.StatusForbidden, 50013, "Missing Permissions")
	unknownMessage     = refusal(http.StatusNotFound, 10008, "Unknown Message")
	threadArchived     = refusal(http.StatusBadRequest, 50083, "Thread is archived")
	threadLocked       = refusal(http.StatusBadRequest, 160005, "Thread is locked")
	wrongChannelType   = refusal(http.StatusBadRequest, 50024, "Cannot execute action on this channel type")
)

// channelOf finds a request's channel and checks that the bot may do there
// what it is about to.
func (s *Server) channelOf(q *request, needs int64) (*channel, *apiError) {
	c := s.channels[q.PathValue("channel")]
	switch {
	case c == nil:
		return nil, refusal(http.StatusNotFound, 10003, "Unknown Channel")
	case !sees(c, s.bot):
		return nil, missingAccess
	case permissions(c, s.bot)&needs != needs:
		return nil, missingPermissions
	}
	return c, nil
}

// messageOf finds a request's message.
func (s *Server) messageOf(q *request, needs int64) (*message, *apiError) {
	c, bad := s.channelOf(q, needs)
	if bad != nil {
		return nil, bad
	}
	m := s.messages[q.PathValue("message")]
	if m == nil || m.channel != c || m.Deleted || m.Reader != "" {
		return nil, unknownMessage
	}
	return m, nil
}

func (s *Server) getChannel(q *request) (any, *apiError) {
	c, bad := s.channelOf(q, 0)
	if bad != nil {
		return nil, bad
	}
	return s.channelObject(c), nil
}

// restMessage is a message as REST gives it. Content is hidden when the
// application doesn't have the intent at all.
func (s *Server) restMessage(m *message) object {
	o := s.messageObject(m)
	if s.options.Privileged&IntentMessageContent == 0 {
		o = s.shield(o, m)
	}
	return o
}

func (s *Server) getMessage(q *request) (any, *apiError) {
	m, bad := s.messageOf(q, ReadMessageHistory)
	if bad != nil {
		return nil, bad
	}
	return s.restMessage(m), nil
}

// getMessages gives messages newest first. Where the bot may not read the
// history there are none, which is no error.
func (s *Server) getMessages(q *request) (any, *apiError) {
	c, bad := s.channelOf(q, 0)
	if bad != nil {
		return nil, bad
	}
	limit, bad := q.limit(50)
	if bad != nil {
		return nil, bad
	}
	found := []object{}
	if permissions(c, s.bot)&ReadMessageHistory == 0 {
		return found, nil
	}
	page, bad := q.page(c.live(), limit)
	for _, m := range slices.Backward(page) {
		found = append(found, s.restMessage(m))
	}
	return found, bad
}

// limit reads the parameter of that name.
func (q *request) limit(otherwise int) (int, *apiError) {
	text := q.URL.Query().Get("limit")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostMessages {
		return 0, badForm("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
	}
	return n, nil
}

// page picks messages by after, before or around; they exclude each other.
func (q *request) page(all []*message, limit int) ([]*message, *apiError) {
	query := q.URL.Query()
	given := 0
	for _, key := range []string{"after", "before", "around"} {
		if !query.Has(key) {
			continue
		}
		if given++; number(query.Get(key)) == 0 && query.Get(key) != "0" {
			return nil, badForm(key, "NUMBER_TYPE_COERCE", "Value is not snowflake.")
		}
	}
	// at is where a message with the id would stand.
	at := func(key string) int {
		id := number(query.Get(key))
		n, _ := slices.BinarySearchFunc(all, id, func(m *message, id int64) int {
			if number(m.ID) < id {
				return -1
			}
			return 1
		})
		return n
	}
	to := len(all)
	switch {
	case given > 1:
		return nil, badForm("after", "MUTUALLY_EXCLUSIVE", "Only one of before, after, around can be given.")
	case query.Has("after"):
		from := at("after")
		if from < to && all[from].ID == query.Get("after") {
			from++
		}
		return all[from:min(to, from+limit)], nil
	case query.Has("before"):
		to = at("before")
	case query.Has("around"):
		to = min(to, at("around")+limit/2+1)
	}
	return all[max(0, to-limit):to], nil
}

func (s *Server) postMessage(q *request) (any, *apiError) {
	c, bad := s.channelOf(q, 0)
	if bad != nil {
		return nil, bad
	}
	if bad := s.maySend(c); bad != nil {
		return nil, bad
	}
	p, bad := s.readPost(q, false)
	if bad != nil {
		return nil, bad
	}
	if len(p.files) > 0 && permissions(c, s.bot)&AttachFiles == 0 {
		return nil, missingPermissions
	}
	if bad := s.moderate(c, p); bad != nil {
		return nil, bad
	}
	key := s.bot.id + " " + p.nonce
	if before := s.nonces[key]; p.EnforceNonce && before != nil && s.now().Sub(before.Created) < s.options.NonceWindow {
		if before.Deleted {
			return nil, unknownMessage
		}
		return s.posted(before), nil
	}
	m := p.message(s, c)
	if bad := s.reply(m, p); bad != nil {
		return nil, bad
	}
	m.Nonce = p.nonce
	s.add(m)
	if p.nonce != "" {
		s.nonces[key] = m
	}
	return s.posted(m), nil
}

// moderate is AutoMod, and Discord's own list of harmful links: both look at
// what a message says, and let nothing of it through.
func (s *Server) moderate(c *channel, p *post) *apiError {
	text := p.content()
	walk(p.Components, func(c map[string]any) {
		if s, ok := c["content"].(string); ok {
			text += "\n" + s
		}
	})
	for _, word := range s.harmful {
		if strings.Contains(text, word) {
			return refusal(http.StatusBadRequest, 240000, "Message blocked by harmful links filter")
		}
	}
	if c.guild == nil {
		return nil
	}
	for _, word := range c.guild.blocked {
		if strings.Contains(text, word) {
			return refusal(http.StatusBadRequest, 200000, "Message was blocked by automatic moderation")
		}
	}
	return nil
}

// posted is what the author of a post gets: it has the nonce, which history
// does not show.
func (s *Server) posted(m *message) object {
	o := s.messageObject(m)
	if m.Nonce != "" {
		o["nonce"] = m.Nonce
	}
	return o
}

// maySend tells whether the bot may write to a channel. Writing opens an
// archived thread, unless it is locked.
func (s *Server) maySend(c *channel) *apiError {
	needs := SendMessages
	if c.thread() {
		needs = SendMessagesInThreads
	}
	switch {
	case c.kind == forumChannel:
		return wrongChannelType
	case permissions(c, s.bot)&needs == 0:
		return missingPermissions
	case c.locked && permissions(c, s.bot)&ManageThreads == 0:
		return threadLocked
	case c.recipient != nil && c.recipient.closed:
		return refusal(http.StatusForbidden, 50007, "Cannot send messages to this user")
	}
	return nil
}

// reply makes a message the answer to another.
func (s *Server) reply(m *message, p *post) *apiError {
	if p.Reference == nil {
		return nil
	}
	to := s.messages[p.Reference.Message]
	if to == nil || to.channel != m.channel || to.Deleted {
		if p.Reference.Fail == nil || *p.Reference.Fail {
			return badForm("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
		}
		return nil
	}
	if permissions(m.channel, s.bot)&ReadMessageHistory == 0 {
		return refusal(http.StatusForbidden, 160002, "Cannot reply without permission to read message history")
	}
	m.Type, m.ReplyTo = replyMessage, to.ID
	s.mention(m, p.Allowed, to)
	return nil
}

func (s *Server) patchMessage(q *request) (any, *apiError) {
	m, bad := s.messageOf(q, 0)
	if bad != nil {
		return nil, bad
	}
	switch {
	case m.author != s.bot:
		return nil, refusal(http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
	case m.channel.archived:
		return nil, threadArchived
	}
	p, bad := s.readPost(q, true)
	if bad != nil {
		return nil, bad
	}
	if bad := s.moderate(m.channel, p); bad != nil {
		return nil, bad
	}
	if bad := s.revise(m, p); bad != nil {
		return nil, bad
	}
	return s.restMessage(m), nil
}

// revise changes what an edit names and leaves the rest.
func (s *Server) revise(m *message, p *post) *apiError {
	if m.Flags&flagComponents != 0 && p.Flags&flagComponents == 0 && p.has("flags") {
		return badForm("flags", "MESSAGE_CANNOT_REMOVE_COMPONENTS_V2_FLAG", "IS_COMPONENTS_V2 can't be taken back.")
	}
	if m.Flags&flagComponents != 0 && p.content() != "" {
		return badForm("content", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "Not together with IS_COMPONENTS_V2.")
	}
	next := *m
	if p.has("content") {
		next.Content = p.content()
	}
	if p.has("embeds") {
		next.embeds = p.Embeds
	}
	if p.has("components") {
		next.components = p.Components
	}
	if p.has("attachments") {
		next.Files = slices.DeleteFunc(slices.Clone(m.Files), func(f File) bool { return !p.keeps(f.ID) })
	}
	s.attach(&next, p.files)
	next.Flags |= p.Flags & flagComponents
	next.Flags &^= flagLoading
	if next.Content == "" && len(next.embeds)+len(next.components)+len(next.Files) == 0 {
		return refusal(http.StatusBadRequest, emptyMessage, "Cannot send an empty message")
	}
	past := m.Content
	*m = next
	s.edited(m, past)
	return nil
}

// edited notes an edit and tells of it.
func (s *Server) edited(m *message, past string) {
	m.Past = append(m.Past, past)
	if m.Flags&flagLoading == 0 { // the answer that was to come is no change
		m.Edited = s.now()
	}
	m.Flags &^= flagLoading
	if m.Reader == "" {
		s.happen(event{kind: "MESSAGE_UPDATE", guild: m.channel.guild, channel: m.channel, message: m, data: s.messageEvent(m)})
	} else {
		s.change()
	}
}

func (s *Server) deleteMessage(q *request) (any, *apiError) {
	m, bad := s.messageOf(q, 0)
	if bad != nil {
		return nil, bad
	}
	if m.author != s.bot && (m.channel.guild == nil || permissions(m.channel, s.bot)&ManageMessages == 0) {
		return nil, missingPermissions
	}
	s.remove(m)
	return nil, nil
}

// remove deletes a message and tells of it.
func (s *Server) remove(m *message) {
	m.Deleted = true
	if m.Reader != "" {
		s.change()
		return
	}
	o := object{"id": m.ID, "channel_id": m.channel.id}
	if m.channel.guild != nil {
		o["guild_id"] = m.channel.guild.id
	}
	s.happen(event{kind: "MESSAGE_DELETE", guild: m.channel.guild, channel: m.channel, data: o})
}

func (s *Server) postTyping(q *request) (any, *apiError) {
	c, bad := s.channelOf(q, 0)
	if bad == nil {
		bad = s.maySend(c)
	}
	return nil, bad
}

// add puts a message into its channel and tells of it.
func (s *Server) add(m *message) {
	m.Created = s.now()
	if m.ID == "" {
		m.ID = s.newID()
	}
	s.messages[m.ID] = m
	if m.Reader != "" {
		s.change()
		return
	}
	c := m.channel
	c.messages = append(c.messages, m)
	if c.thread() {
		s.enter(c, m.author.id)
		for _, id := range m.mentions {
			s.enter(c, id)
		}
		if c.archived && !c.locked {
			c.archived, c.changed = false, s.now()
			s.threadEvent("THREAD_UPDATE", c)
		}
	}
	s.happen(event{kind: "MESSAGE_CREATE", guild: c.guild, channel: c, message: m, data: s.messageEvent(m)})
}

// attach stores files and gives them addresses.
func (s *Server) attach(m *message, files []File) {
	for _, f := range files {
		f.ID = s.newID()
		if f.Type == "" {
			f.Type = "text/plain; charset=utf-8"
		}
		f.URL = strings.Join([]string{s.base, "attachments", m.channel.id, f.ID, f.Name + "?ex=1&is=1&hm=1"}, "/")
		s.files[f.ID] = f
		m.Files = append(m.Files, f)
	}
}
