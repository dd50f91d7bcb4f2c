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
	"nod/chat"
	"nod/chat/catchup"
	"nod/chat/outbox"
	"nod/front"
)

// mostContent is the longest text of a message.
const mostContent = 2000

// part is one message of a post, and the sign by which it is known later: the
// id of a button, a line of its text, a mark, or all of its text.
type part struct {
	content string
	buttons []discordgo.MessageComponent
	file    *api.Upload
	button  string   // begins the id of a button in it
	line    string   // is a line of it
	mark    string   // stands in it, or in the name of its file
	card    []string // texts of a card, in place of content
	accent  int      // the colour of the card
	wide    bool     // the card is a long text, without a box around it

	attached bool  // its file is not shown in a gallery
	plain    *part // what stands for the card where Discord takes none
	pings    pings // when it is made; a change pings nobody
	silent   bool  // it rings nowhere
}

// pings says whom a message pings: nobody but who is named here, whatever the text
// says, since a model wrote it
// (https://discord.com/developers/docs/resources/message#allowed-mentions-object).
type pings struct {
	Parse   []string `json:"parse"`
	Users   []string `json:"users,omitempty"`
	Roles   []string `json:"roles,omitempty"`
	Replied bool     `json:"replied_user"`
}

func nobody() pings { return pings{Parse: []string{}} }

// body is a message as it is sent
// (https://discord.com/developers/docs/resources/message#create-message).
type body struct {
	Content     *string          `json:"content"`
	Components  []any            `json:"components"`
	Allowed     pings            `json:"allowed_mentions"`
	Flags       int              `json:"flags,omitempty"`
	Nonce       string           `json:"nonce,omitempty"`
	Enforce     bool             `json:"enforce_nonce,omitempty"`
	Reference   *answered        `json:"message_reference,omitempty"`
	Attachments []map[string]any `json:"attachments,omitempty"`
}

type answered struct {
	Message string `json:"message_id"`
	Fail    bool   `json:"fail_if_not_exists"`
}

// change is the body that makes a message show a part. Files stay as they are.
func (p part) change() body {
	b := body{Components: []any{}, Allowed: nobody()}
	switch {
	case p.wide:
		b.Flags, b.Components = api.Components, append(b.Components, display(p.card[0]))
		return b.with(p.buttons)
	case len(p.card) > 0:
		b.Flags, b.Components = api.Components, append(b.Components, p.container())
		return b
	case p.gallery():
		b.Flags, b.Components = api.Components, append(b.Components, galleryOf(*p.file))
		return b
	}
	b.Content = &p.content
	return b.with(p.buttons)
}

// with is a message with buttons below it.
func (b body) with(buttons []discordgo.MessageComponent) body {
	if len(buttons) > 0 {
		b.Components = append(b.Components, discordgo.ActionsRow{Components: buttons})
	}
	return b
}

// container is a card with its texts and buttons
// (https://discord.com/developers/docs/components/reference#container).
func (p part) container() map[string]any {
	const box = 17
	var inner []any
	for _, t := range p.card {
		inner = append(inner, display(t))
	}
	if len(p.buttons) > 0 {
		inner = append(inner, discordgo.ActionsRow{Components: p.buttons})
	}
	return map[string]any{"type": box, "accent_color": p.accent, "components": inner}
}

// display is a text on a card
// (https://discord.com/developers/docs/components/reference#text-display).
func display(text string) map[string]any { return map[string]any{"type": 10, "content": text} }

// withoutCard is the part without a card, with the same buttons and pings.
func (p part) withoutCard() part {
	out := *p.plain
	out.buttons, out.pings, out.silent = p.buttons, p.pings, p.silent
	return out
}

// sending is a post on its way.
type sending struct {
	a        *Adapter
	thread   chat.ThreadID
	home     home
	post     chat.Post
	parts    []part
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
		p.buttons = under
	}
	b := p.change()
	if b.Flags&api.Components == 0 { // a card unfolds no links
		b.Flags = api.SuppressEmbeds
	}
	if p.silent {
		b.Flags |= api.Silent
	}
	if b.Allowed = p.pings; b.Allowed.Parse == nil {
		b.Allowed.Parse = []string{}
	}
	b.Nonce, b.Enforce = api.Nonce(s.thread, s.post.Key, n, s.afresh), true
	if id := s.replyTo(n); id != "" {
		b.Reference = &answered{Message: id}
		b.Allowed.Replied = s.slow && n == 0
	}
	r := api.Request{
		Method: "POST", Path: "/channels/{}/messages", IDs: []string{s.home.channel},
		Priority: s.priority, Group: s.thread.String(), Answer: answer,
	}
	if p.file != nil {
		b.Attachments = []map[string]any{{"id": "0", "filename": p.file.Name, "description": p.file.Says}}
		r.Files = []api.Upload{*p.file}
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
	if s.post.Approval != nil && s.parts[0].file != nil && unfit(err) {
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
	if failed != nil || c.Type == api.PrivateThread {
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
	b := part{content: text}.change()
	b.Flags, b.Reference = api.SuppressEmbeds|api.Silent, &answered{Message: p.Thread}
	b.Nonce, b.Enforce = api.Nonce(api.ThreadID(p), "above "+text, 0, 0), true
	err := a.rest.Call(ctx, api.Request{
		Method: "POST", Path: "/channels/{}/messages", IDs: []string{p.Channel}, Body: b, Priority: outbox.Low,
	})
	if err != nil {
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
	case api.Code(err) == api.CodeBadForm && s.parts[n].plain != nil:
		s.a.log.Warn("discord refused a card, a plain message follows", "thread", s.thread.String(), "error", err)
		s.parts[n] = s.parts[n].withoutCard()
	case api.Code(err) == api.CodeBadForm && s.parts[n].wide:
		s.a.log.Warn("discord refused a long message, short ones follow", "thread", s.thread.String(), "error", err)
		s.narrow(n)
		return true, s.again(ctx)
	case (api.Code(err) == api.CodeBadForm || api.Code(err) == api.CodeNoHistory) && s.replyTo(n) != "" && !s.loose:
		s.loose = true // the message that it answers can't be answered
	case s.post.File != nil && s.parts[n].file != nil && unfit(err):
		s.plainly(n, err)
	case s.goesAround(n, err):
		return true, s.again(ctx)
	case s.blocked != nil && api.Refused(err):
		return false, s.blocked
	case s.post.Text != nil && s.parts[n].file != nil && unfit(err):
		s.a.log.Warn("discord refused a file, the answer is messages", "thread", s.thread.String(), "error", err)
		s.parts = answerMessages(s.post.Text)
	case api.Code(err) == discordgo.ErrCodeUnknownMessage && s.afresh < front.MostTries:
		s.afresh++ // made before, and deleted since
	default:
		return false, nil
	}
	return true, nil
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
	case p.button != "":
		return strings.Contains(string(m.Components), `"`+p.button)
	case p.mark != "":
		return m.Bears(p.mark)
	case p.line != "":
		return slices.Contains(m.Lines(), p.line)
	}
	said, ours := m.Content, p.content
	if p.wide {
		said, ours = strings.Join(m.Lines(), "\n"), p.card[0]
	}
	return bare(said) == bare(ours) && (answers == "" || answers == s.replyTo(n))
}
