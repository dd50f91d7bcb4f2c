package fakediscord

import (
	"net/http"
	"strings"
)

func (s *Server) postThread(q *request) (any, *apiError) {
	m, bad := s.messageOf(q, 0)
	if bad != nil {
		return nil, bad
	}
	c := m.channel
	switch {
	case c.kind != textChannel && c.kind != newsChannel:
		return nil, wrongChannelType
	case permissions(c, s.bot)&CreatePublicThreads == 0:
		return nil, missingPermissions
	case m.thread != nil:
		return nil, refusal(http.StatusBadRequest, 160004, "A thread has already been created for this message")
	case len(s.activeThreads(c.guild)) >= s.options.ActiveThreads:
		return nil, refusal(http.StatusBadRequest, 160006, "Maximum number of active threads reached")
	}
	var body struct {
		Name    string `json:"name"`
		Archive int    `json:"auto_archive_duration"`
	}
	if bad := q.decode(&body); bad != nil {
		return nil, bad
	}
	f := &form{}
	name := strings.TrimSpace(body.Name)
	f.length("name", name, 1, 100)
	switch body.Archive {
	case 0, 60, 1440, 4320, 10080:
	default:
		f.fail("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of {60, 1440, 4320, 10080}.")
	}
	if f.bad != nil {
		return nil, f.bad
	}
	for _, word := range c.guild.blocked {
		if strings.Contains(name, word) {
			return nil, refusal(http.StatusBadRequest, 200001, "Title was blocked by automatic moderation")
		}
	}
	t := s.beginThread(m, s.bot, name)
	if body.Archive != 0 {
		t.archive = body.Archive
	}
	q.status = http.StatusCreated
	return s.channelObject(t), nil
}

// beginThread makes a thread of a message. Their ids are the same. The first
// message in it is a system message that points to the one it began with.
func (s *Server) beginThread(m *message, owner *user, name string) *channel {
	t := s.newThread(m.ID, m.channel, owner, name)
	m.thread = t
	m.Flags |= flagHasThread
	s.threadEvent("THREAD_CREATE", t)
	s.happen(event{kind: "MESSAGE_UPDATE", guild: t.guild, channel: m.channel, message: m, data: s.messageEvent(m)})
	first := &message{author: m.author, channel: t}
	first.Type, first.ReplyTo = threadStarter, m.ID
	s.add(first)
	return t
}

func (s *Server) newThread(id string, parent *channel, owner *user, name string) *channel {
	t := &channel{
		id: id, name: name, kind: threadKind(parent), guild: parent.guild, parent: parent, owner: owner.id,
		members: []string{owner.id}, archive: 1440, created: s.now(), changed: s.now(),
	}
	s.channels[id] = t
	t.guild.channels = append(t.guild.channels, id)
	return t
}

func threadKind(parent *channel) int {
	if parent.kind == newsChannel {
		return newsThread
	}
	return publicThread
}

// threadEvent tells of a thread; a new one says so.
func (s *Server) threadEvent(kind string, t *channel) {
	o := s.channelObject(t)
	if kind == "THREAD_CREATE" {
		o["newly_created"] = true
	}
	s.happen(event{kind: kind, guild: t.guild, channel: t, data: o})
}

// enter makes a user a member of a thread.
func (s *Server) enter(t *channel, id string) {
	if s.users[id] == nil || has(t.members, id) {
		return
	}
	t.members = append(t.members, id)
	s.happen(event{kind: "THREAD_MEMBERS_UPDATE", guild: t.guild, channel: t, data: object{
		"id": t.id, "guild_id": t.guild.id, "member_count": len(t.members),
		"added_members": []object{threadMemberObject(t, id)}, "removed_member_ids": []string{},
	}})
}

// threadOf finds a request's thread.
func (s *Server) threadOf(q *request) (*channel, *apiError) {
	c, bad := s.channelOf(q, 0)
	if bad == nil && !c.thread() {
		bad = wrongChannelType
	}
	return c, bad
}

func (s *Server) joinThread(q *request) (any, *apiError) {
	t, bad := s.threadOf(q)
	if bad != nil {
		return nil, bad
	}
	if t.archived {
		return nil, threadArchived
	}
	s.enter(t, s.bot.id)
	return nil, nil
}

// addToThread brings somebody in, which takes being allowed to write there.
func (s *Server) addToThread(q *request) (any, *apiError) {
	t, bad := s.threadOf(q)
	if bad != nil {
		return nil, bad
	}
	if bad := s.maySend(t); bad != nil {
		return nil, bad
	}
	id := q.PathValue("user")
	switch {
	case s.users[id] == nil || t.guild.members[id] == nil:
		return nil, refusal(http.StatusNotFound, 10013, "Unknown User")
	case t.archived:
		return nil, threadArchived
	}
	s.enter(t, id)
	return nil, nil
}

// patchThread archives or locks a thread, or opens it again. To open one that is
// not locked takes no more than writing in it, all else managing threads
// (https://discord.com/developers/docs/resources/channel#modify-channel). An
// archived one can't be changed but by being opened.
func (s *Server) patchThread(q *request) (any, *apiError) {
	t, bad := s.threadOf(q)
	if bad != nil {
		return nil, bad
	}
	var body struct {
		Archived *bool `json:"archived"`
		Locked   *bool `json:"locked"`
	}
	if bad := q.decode(&body); bad != nil {
		return nil, bad
	}
	needs := ManageThreads
	opens := body.Archived != nil && !*body.Archived
	if opens && body.Locked == nil && !t.locked {
		needs = SendMessagesInThreads
	}
	switch {
	case permissions(t, s.bot)&needs == 0:
		return nil, missingPermissions
	case t.archived && !opens:
		return nil, threadArchived
	}
	if body.Archived != nil {
		t.archived = *body.Archived
	}
	if body.Locked != nil {
		t.locked = *body.Locked
	}
	t.changed = s.now()
	s.threadEvent("THREAD_UPDATE", t)
	return s.channelObject(t), nil
}

func (s *Server) leaveThread(q *request) (any, *apiError) {
	t, bad := s.threadOf(q)
	if bad != nil {
		return nil, bad
	}
	var left []string
	for _, id := range t.members {
		if id != s.bot.id {
			left = append(left, id)
		}
	}
	t.members = left
	return nil, nil
}

// getThreadMembers takes the members intent, as at Discord.
func (s *Server) getThreadMembers(q *request) (any, *apiError) {
	t, bad := s.threadOf(q)
	if bad != nil {
		return nil, bad
	}
	if s.options.Privileged&IntentGuildMembers == 0 {
		return nil, missingAccess
	}
	out := []object{}
	for _, id := range t.members {
		out = append(out, threadMemberObject(t, id))
	}
	return out, nil
}

func (s *Server) getThreadMember(q *request) (any, *apiError) {
	t, bad := s.threadOf(q)
	if bad != nil {
		return nil, bad
	}
	id := q.PathValue("user")
	if id == "@me" {
		id = s.bot.id
	}
	if !has(t.members, id) {
		return nil, refusal(http.StatusNotFound, 10007, "Unknown Member")
	}
	return threadMemberObject(t, id), nil
}

func (s *Server) getActiveThreads(q *request) (any, *apiError) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return nil, bad
	}
	return s.threadsObject(s.activeThreads(g)), nil
}

// getArchivedThreads gives a channel's archived threads, newest first.
func (s *Server) getArchivedThreads(q *request) (any, *apiError) {
	c, bad := s.channelOf(q, ReadMessageHistory)
	if bad != nil {
		return nil, bad
	}
	if c.guild == nil {
		return nil, wrongChannelType
	}
	var found []*channel
	for _, id := range c.guild.channels {
		if t := s.channels[id]; t.parent == c && t.archived && t.kind == publicThread {
			found = append([]*channel{t}, found...)
		}
	}
	return s.threadsObject(found), nil
}

// threadsObject lists the threads that the bot sees, and its memberships.
func (s *Server) threadsObject(found []*channel) object {
	threads, members := []object{}, []object{}
	for _, t := range found {
		if !sees(t, s.bot) {
			continue
		}
		threads = append(threads, s.channelObject(t))
		if has(t.members, s.bot.id) {
			members = append(members, threadMemberObject(t, s.bot.id))
		}
	}
	return object{"threads": threads, "members": members, "has_more": false}
}
