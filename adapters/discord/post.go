package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/catchup"
	"nod/chat/markdown"
	"nod/chat/outbox"
	"nod/front"
)

type sending struct {
	a        *Adapter
	thread   chat.ThreadID
	home     home
	post     chat.Post
	parts    []layout.Part
	priority outbox.Priority
	stands   map[int]string // parts that are there, by number
	first    string         // message of the post
	slow     bool           // it is an answer that somebody had to wait for
	loose    bool           // it may not answer a message
	afresh   int            // how often it was deleted while its outcome was unknown
	looked   bool           // it may have been made before
	blocked  error          // what kept the answer from being shown as it is
}

// replyTo is the message that the first of the parts answers, where that
// stands in the same channel. In a chain all of them do, so that it is one.
func (s *sending) replyTo(n int) string {
	switch {
	case s.loose:
		return ""
	case s.home.replyTo != "":
		return s.home.replyTo
	case n > 0 || s.post.Text == nil || s.post.ReplyTo.ID == api.PlaceOf(s.thread).Thread:
		return ""
	}
	return s.post.ReplyTo.ID
}

func (s *sending) request(n int, answer any) api.Request {
	p := s.parts[n]
	if under := s.under(n); len(under) > 0 {
		p.Buttons = under
	}
	b := p.Change()
	if b.Flags&discordgo.MessageFlagsIsComponentsV2 == 0 { // a card unfolds no links
		b.Flags = discordgo.MessageFlagsSuppressEmbeds
	}
	if p.Silent {
		b.Flags |= discordgo.MessageFlagsSuppressNotifications
	}
	if b.Allowed = p.Pings; b.Allowed.Parse == nil {
		b.Allowed.Parse = layout.Nobody().Parse
	}
	b.Nonce, b.Enforce = api.Nonce(s.thread, s.post.Key, n, s.afresh), true
	if id := s.replyTo(n); id != "" {
		b.Reference = layout.Answering(id)
		b.Allowed.Replied = s.slow && n == 0
	}
	r := api.Request{
		Method: "POST", Path: "/channels/{}/messages", IDs: []string{s.home.channel},
		Priority: s.priority, Group: s.thread.String(), Answer: answer,
	}
	if p.File != nil {
		b.Attachments = []map[string]any{{"id": "0", "filename": p.File.Name, "description": p.File.Says}}
		r.Files = []api.Upload{*p.File}
	}
	r.Body = b
	return r
}

// all makes the messages of a post, but for those that stand already.
func (s *sending) all(ctx context.Context, look bool) (string, error) {
	s.first = ""
	if s.looked = look; look {
		if err := s.look(ctx); err != nil {
			return "", err
		}
	}
	for i := 0; i < len(s.parts); i++ { // there may be more of them in the end than at the beginning
		id, err := s.send(ctx, i)
		if err != nil {
			return "", err
		}
		if i == 0 {
			s.first = id
		}
		if s.home.replyTo != "" {
			s.a.homes.places.Put(id, api.PlaceOf(s.thread))
		}
	}
	return s.first, nil
}

// final judges a refusal of the post. An approval that Discord takes only without
// the arguments can't be shown at all.
func (s *sending) final(err error) error {
	if s.post.Approval != nil && s.parts[0].File != nil && unfit(err) {
		return chat.Refused{
			Platform: "Discord", Code: strconv.Itoa(api.Code(err)),
			Words: "the arguments are too long for a message, and no file may be attached here",
		}
	}
	return api.Final(err)
}

// moved goes on in the channel above a thread in which the bot may not write. A
// thread that somebody locked is left alone, but for a word about it above; and
// what is said in a private one is not for those who read the channel.
func (s *sending) moved(ctx context.Context, err error) bool {
	p := api.PlaceOf(s.thread)
	if p.Direct() || s.home.replyTo != "" || api.Code(err) != api.CodeLocked && api.Code(err) != discordgo.ErrCodeMissingPermissions {
		return false
	}
	c, failed := s.a.atlas.Channel(ctx, p.Thread)
	if failed != nil || c.Type == discordgo.ChannelTypeGuildPrivateThread {
		return false
	}
	if api.Code(err) == api.CodeLocked {
		s.a.above(ctx, p, "I can't answer in this thread: it is locked.")
		return false
	}
	s.a.log.Warn("the thread can't be written to, answering in the channel", "thread", s.thread.String(), "error", err)
	s.a.homes.flat.Put(p, true)
	s.home, s.stands = home{p.Channel, p.Thread}, nil
	return true
}

// above says something about a thread in the channel above it, once.
func (a *Adapter) above(ctx context.Context, p api.Place, text string) {
	r := remark{
		thread: api.ThreadID(p), channel: p.Channel, on: p.Thread,
		part: layout.Part{Content: text, Silent: true}, key: "above " + text, priority: outbox.Low,
	}
	if err := a.rest.Call(ctx, r.request(nil)); err != nil {
		a.log.Warn("say something above a thread", "thread", api.ThreadID(p).String(), "error", err)
	}
}

// send makes one message. The nonce keeps one that is still on its way from being made
// twice.
func (s *sending) send(ctx context.Context, n int) (string, error) {
	return s.a.Deliver(ctx, s.thread, front.Attempt{
		Stands:  func() string { return s.stands[n] },
		Make:    func(ctx context.Context) (string, error) { return s.once(ctx, n) },
		Rewrite: func(ctx context.Context, err error, _ int) (bool, error) { return s.rewrite(ctx, n, err) },
		Look:    s.look,
		Unsure:  api.Blank,
	})
}

func (s *sending) once(ctx context.Context, n int) (string, error) {
	var said api.Message
	err := s.a.rest.Call(ctx, s.request(n, &said))
	if err == nil && said.ID == "" {
		err = &outbox.Lost{Call: "POST message", Err: errors.New("the answer names no message")}
	}
	return said.ID, err
}

// rewrite writes a message that Discord refused in another way. failed ends the post.
func (s *sending) rewrite(ctx context.Context, n int, err error) (again bool, failed error) {
	switch {
	case api.Code(err) == api.CodeBadForm && s.parts[n].Plain != nil:
		s.a.log.Warn("discord refused a card, a plain message follows", "thread", s.thread.String(), "error", err)
		s.parts[n] = s.parts[n].WithoutCard()
	case api.Code(err) == api.CodeBadForm && s.parts[n].Wide:
		s.a.log.Warn("discord refused a long message, short ones follow", "thread", s.thread.String(), "error", err)
		s.narrow(n)
		return true, s.again(ctx)
	case (api.Code(err) == api.CodeBadForm || api.Code(err) == api.CodeNoHistory) && s.replyTo(n) != "" && !s.loose:
		s.loose = true // the message that it answers can't be answered
	case s.post.File != nil && s.parts[n].File != nil && unfit(err):
		s.plainly(n, err)
	case s.goesAround(n, err):
		return true, s.again(ctx)
	case s.blocked != nil && api.Refused(err):
		return false, s.blocked
	case s.post.Text != nil && s.parts[n].File != nil && unfit(err):
		s.a.log.Warn("discord refused a file, the answer is messages", "thread", s.thread.String(), "error", err)
		s.parts = layout.AnswerMessages(s.post.Text)
	case api.Code(err) == discordgo.ErrCodeUnknownMessage && s.afresh < front.MostTries:
		s.afresh++ // made before, and deleted since
	default:
		return false, nil
	}
	return true, nil
}

// goesAround puts another form of an answer in place of what Discord's filters
// blocked, from part n on; once, and not for what is no answer.
func (s *sending) goesAround(n int, err error) bool {
	t := s.post.Text
	if t == nil || t.Notice || s.blocked != nil {
		return false
	}
	other := layout.Around(api.Code(err), t)
	if len(other) == 0 {
		return false
	}
	s.a.log.Warn("discord's filters blocked an answer, it goes another way", "thread", s.thread.String(), "error", err)
	s.blocked, s.stands = err, nil
	s.parts = append(s.parts[:n], other...)
	return true
}

// again looks for what the post has become, if it may have been made before.
func (s *sending) again(ctx context.Context) error {
	if !s.looked {
		return nil
	}
	return s.look(ctx)
}

const lookPages = 10

// look finds which messages of the post stand already: the bot's own, younger
// than what they answer, with the sign of a part. Each counts for one part.
func (s *sending) look(ctx context.Context) error {
	me, err := s.a.me(ctx)
	if err != nil {
		return fmt.Errorf("look for the post: %w", err)
	}
	where := span{s.home.channel, s.post.ReplyTo.ID, s.priority, lookPages, false}
	if where.after == "" { // then what there is to find was made lately
		where.after, where.back = api.IDAt(s.a.o.Now().Add(-catchup.LookBack)), true
	}
	msgs, err := s.a.read(ctx, where)
	if err != nil {
		return fmt.Errorf("look for the post: %w", err)
	}
	s.stands = map[int]string{}
	taken := map[string]bool{}
	for n := range s.parts {
		i := slices.IndexFunc(msgs, func(m api.Message) bool {
			return m.Author.ID == me.ID && !taken[m.ID] && s.is(m, n)
		})
		if i >= 0 {
			s.stands[n] = msgs[i].ID
			taken[msgs[i].ID] = true
		}
	}
	return nil
}

// is says whether a message of the bot's is a part of the post. Discord may or
// may not show the nonce later; where it does that decides.
func (s *sending) is(m api.Message, n int) bool {
	var shown string
	if json.Unmarshal(m.Nonce, &shown) == nil && shown != "" {
		return shown == api.Nonce(s.thread, s.post.Key, n, s.afresh)
	}
	answers := ""
	if m.Reference != nil {
		answers = m.Reference.MessageID
	}
	p := s.parts[n]
	switch {
	case s.home.replyTo != "" && answers != "" && answers != s.home.replyTo:
		return false
	case p.Button != "":
		return strings.Contains(string(m.Components), `"`+p.Button)
	case p.Mark != "":
		return m.Bears(p.Mark)
	case p.Line != "":
		return slices.Contains(m.Lines(), p.Line)
	}
	said, ours := m.Content, p.Content
	if p.Wide {
		said, ours = strings.Join(m.Lines(), "\n"), p.Card[0]
	}
	return bare(said) == bare(ours) && (answers == "" || answers == s.replyTo(n))
}

// narrow writes what is left of an answer, from part n on, as messages that every
// client shows, with the same lines below and the same pings.
func (s *sending) narrow(n int) {
	last := s.parts[len(s.parts)-1]
	out := layout.AnswerMessages(s.post.Text)
	if n > 0 {
		out = nil
		for _, p := range s.parts[n:] {
			for _, text := range layout.Said(markdown.Split(p.Card[0], layout.MostContent, markdown.UTF16)) {
				out = append(out, layout.Part{Content: text, Silent: p.Silent})
			}
		}
	} else if end := &out[len(out)-1]; markdown.UTF16(end.Content)+markdown.UTF16(below.FindString(last.Card[0])) <= layout.MostContent {
		end.Content += below.FindString(last.Card[0])
	}
	out[0].Silent, out[len(out)-1].Pings = s.parts[n].Silent, last.Pings
	s.parts = append(s.parts[:n], out...)
}

// under are the buttons under part n of a post: under the last message of an
// answer, and of nothing else.
func (s *sending) under(n int) []discordgo.MessageComponent {
	if s.post.Text == nil || s.post.Text.Notice || n != len(s.parts)-1 {
		return nil
	}
	about := front.Click{Thread: s.thread, On: chat.MessageRef{ID: s.first}} // "": the message with the button
	id := func(kind string) string { return idOf(kind, about) }
	var out []discordgo.MessageComponent
	for _, b := range []struct{ kind, emoji string }{{goodButton, chat.EmojiGood}, {badButton, chat.EmojiBad}} {
		out = append(out, discordgo.Button{
			Emoji: &discordgo.ComponentEmoji{Name: b.emoji}, Style: discordgo.SecondaryButton, CustomID: id(b.kind),
		})
	}
	if s.a.o.Retries {
		out = append(out, discordgo.Button{Label: "Try again", Style: discordgo.SecondaryButton, CustomID: id(retryButton)})
	}
	return out
}
