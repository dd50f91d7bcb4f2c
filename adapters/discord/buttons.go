package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
	"nod/chat/bounded"
	"nod/front"
)

// Buttons stand for the emoji of an approval, and for the word that stops a turn:
// what a click means is put like what it stands for, and judged there.

const (
	voteButton = "vote"
	reasonForm = "reason"
	mostReason = 300
)

// ballot is what a button of an approval, or the form behind it, stands for.
type ballot struct {
	kind  string
	place place
	call  string
	emoji string // what it stands for
	deny  bool
}

// id writes the id of a button; "" when it would be too long for Discord.
func (b ballot) id() string {
	verdict := "yes"
	if b.deny {
		verdict = "no"
	}
	return customID(b.kind, b.place.String(), b.call, verdict, b.emoji)
}

func readBallot(id string) (ballot, bool) {
	parts, ok := readID(id, 5, voteButton, grantButton, copyButton, reasonForm)
	if !ok {
		return ballot{}, false
	}
	return ballot{parts[0], readPlace(parts[1]), parts[2], parts[4], parts[3] == "no"}, true
}

// cardButtons draws the buttons of an approval. One that is too long for Discord is left
// out. Forms are about the thread: on a card elsewhere there are Approve and Deny alone.
func cardButtons(thread chat.ThreadID, p *chat.Approval, all []front.Button) []discordgo.MessageComponent {
	kinds := map[front.Verb]string{front.Approve: voteButton, front.Deny: voteButton, front.Grant: grantButton}
	styles := map[front.Verb]discordgo.ButtonStyle{front.Approve: discordgo.SuccessButton, front.Deny: discordgo.DangerButton}
	if p.Home != (chat.ThreadID{}) {
		kinds = map[front.Verb]string{front.Approve: copyButton, front.Deny: copyButton}
	}
	var out []discordgo.MessageComponent
	for _, b := range all {
		id := ""
		if kind := kinds[b.Verb]; kind != "" {
			id = ballot{kind, placeOf(thread), p.Call, b.Emoji, b.Verb == front.Deny}.id()
		} else if b.Verb == front.Edit && p.Home == (chat.ThreadID{}) {
			id = editableOf(editButton, placeOf(thread), p).id()
		}
		if style := cmp.Or(styles[b.Verb], discordgo.SecondaryButton); id != "" {
			out = append(out, discordgo.Button{Label: b.Label, Style: style, CustomID: id})
		}
	}
	return out
}

// pressed does what a button says.
func (a *Adapter) pressed(ctx context.Context, in interaction) error {
	if b, ok := readBallot(in.Data.CustomID); ok && b.kind != reasonForm {
		return a.voted(ctx, in, b)
	}
	if e, ok := readEditable(in.Data.CustomID); ok && e.kind == editButton {
		return a.edit(ctx, in, e)
	}
	if r, ok := readRerun(in.Data.CustomID); ok && r.kind == rerunButton {
		return a.editAgain(ctx, in, r)
	}
	if want, ok := readButton(in.Data.CustomID); ok && want.kind == stopButton {
		if !in.in(want.place) {
			return errForeign
		}
		return a.halt(ctx, in, want.place, userOf(*in.User, in.Member))
	}
	if v, ok := readVerdict(in.Data.CustomID); ok && v.kind != wrongForm {
		return a.judged(ctx, in, v)
	}
	return a.clicked(ctx, in)
}

// in says whether an interaction came from a place.
func (in interaction) in(p place) bool { return in.ChannelID == p.channel || in.ChannelID == p.thread }

// voted puts a click on Approve or Deny, and asks whoever denied why.
func (a *Adapter) voted(ctx context.Context, in interaction, b ballot) error {
	if !in.in(b.place) || in.Message == nil {
		return errForeign
	}
	by := userOf(*in.User, in.Member)
	var err error
	if by.Barred, err = a.barred(ctx, in.speaker()); err != nil {
		return a.sorry(ctx, in, err)
	}
	on, copied := b.place, b.kind == copyButton
	if copied && in.GuildID != "" && on.direct() {
		on.thread = in.Message.ID // see refIn
	}
	r := chat.Reaction{On: refOf(on, in.Message.ID), By: by, Emoji: chat.NormalEmoji(b.emoji), Button: !copied}
	if b.kind == grantButton {
		r.Grant = &chat.Grant{} // as long as it may be, which is what the button says
	}
	defer a.asides.clicked(r, in, a.o.Now())()
	if err := a.putSoon(ctx, func(ctx context.Context) error {
		_, err := a.o.Inbox.Reaction(ctx, r, interactionKey(in.ID))
		return err
	}); err != nil {
		return a.sorry(ctx, in, err)
	}
	if !b.deny || copied {
		return a.respond(ctx, in, promiseToChange, nil)
	}
	b.kind = reasonForm
	_, err = a.reply(ctx, in, answerForm, form(b.id()))
	if err == nil || code(err) == codeAnswered {
		return err
	}
	// where no form opens there will be no reason, and nobody waits for one
	a.log.Warn("ask why a call is denied", "error", err)
	if _, err := a.o.Inbox.Reason(ctx, threadID(b.place), b.call, by, "", "discord:noreason:"+in.ID); err != nil {
		return fmt.Errorf("put that there is no reason: %w", err)
	}
	return a.respond(ctx, in, promiseToChange, nil)
}

// putSoon puts what a click means within the time that there is to answer it.
func (a *Adapter) putSoon(ctx context.Context, put func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.o.Defer)
	defer cancel()
	return put(ctx)
}

// form asks why
// (https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal).
func form(id string) map[string]any {
	field := map[string]any{
		"type": 4, "custom_id": "reason", "style": 1, "required": false, "max_length": mostReason,
		"placeholder": "It goes to the model, and stands on the message",
	}
	return map[string]any{
		"custom_id": id, "title": "Denied. Why?",
		"components": []any{map[string]any{"type": 18, "label": "Reason", "component": field}},
	}
}

// filled takes the reason in.
func (a *Adapter) filled(ctx context.Context, in interaction) error {
	if strings.HasPrefix(in.Data.CustomID, aboutForm+"|") {
		return a.askedAbout(ctx, in, in.Data.CustomID)
	}
	if v, ok := readVerdict(in.Data.CustomID); ok && v.kind == wrongForm {
		return a.criticised(ctx, in, v)
	}
	if e, ok := readEditable(in.Data.CustomID); ok && e.kind == editForm {
		return a.changed(ctx, in, e)
	}
	if r, ok := readRerun(in.Data.CustomID); ok && r.kind == rerunForm {
		return a.ranAgain(ctx, in, r)
	}
	b, ok := readBallot(in.Data.CustomID)
	if !ok || b.kind != reasonForm || !in.in(b.place) {
		return errForeign
	}
	text := shorten(chat.Flat(fieldOf(in.Data.Components)), mostReason)
	by := userOf(*in.User, in.Member)
	if err := a.putSoon(ctx, func(ctx context.Context) error {
		_, err := a.o.Inbox.Reason(ctx, threadID(b.place), b.call, by, text, interactionKey(in.ID))
		return err
	}); err != nil {
		return a.sorry(ctx, in, err)
	}
	return a.respond(ctx, in, promiseToChange, nil)
}

// fieldOf is what the only field of a form was filled in with.
func fieldOf(raw json.RawMessage) string {
	var rows []struct {
		Component struct {
			Value string `json:"value"`
		} `json:"component"`
		Components []struct {
			Value string `json:"value"`
		} `json:"components"`
	}
	if json.Unmarshal(raw, &rows) != nil || len(rows) == 0 {
		return ""
	}
	if len(rows[0].Components) > 0 {
		return rows[0].Components[0].Value
	}
	return rows[0].Component.Value
}

// asides are clicks and commands whose answer may still be said to one person
// alone, and what came along with some.
type asides struct {
	last    bounded.Map[clickOn, aside]
	targets bounded.Map[string, message]  // of message commands
	along   bounded.Map[string, *message] // by interaction, whose question is put with it; nil once it is
}

type aside struct {
	in       interaction
	at       time.Time
	answered chan struct{} // closed once it has its first answer, before which it takes no other
}

// tokenStays is how long an interaction takes further answers.
const tokenStays = 14 * time.Minute

// clickOn is who clicked, and on which message; or a command.
type clickOn struct {
	on  string
	who chat.UserID
}

// clicked notes a click. What it returns is to be called when it is answered.
func (s *asides) clicked(r chat.Reaction, in interaction, now time.Time) (answered func()) {
	c := aside{in, now, make(chan struct{})}
	s.last.Put(clickOn{r.On.ID, r.By.ID}, c)
	return func() { close(c.answered) }
}

// waits notes a command whose answer is for whoever gave it.
func (s *asides) waits(in interaction, now time.Time) {
	s.clicked(chat.Reaction{On: chat.MessageRef{ID: in.ID}}, in, now)()
}

// take gives the command that a post answers, once.
func (s *asides) take(id string) (interaction, bool) {
	c, ok := s.last.Take(clickOn{on: id})
	return c.in, ok
}

// waitAtMost is how long a command may look unanswered.
const waitAtMost = 20 * time.Second

// late does something about a command that nothing has answered for a while.
func (s *asides) late(ctx context.Context, in interaction, do func(context.Context) error) {
	ctx = context.WithoutCancel(ctx)
	time.AfterFunc(waitAtMost, func() {
		if _, waits := s.take(in.ID); waits {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			_ = do(ctx)
		}
	})
}

// brings notes what came along with a question, before it is shown.
func (s *asides) brings(id string, m message) {
	s.along.Swap(id, func(_ *message, known bool) (*message, bool) { return &m, !known })
}

// completes gives a question what came along with it. It says whether that was put
// already.
func (s *asides) completes(m *message) (put bool) {
	if m.Interaction == nil {
		return false
	}
	more, ok := s.along.Get(m.Interaction.ID)
	if ok && more != nil {
		m.Attachments, m.Aside = more.Attachments, more.Aside
	}
	return ok && more == nil
}

// isPut notes that a question is put with what came along.
func (s *asides) isPut(m message) {
	if m.Interaction != nil {
		s.along.Swap(m.Interaction.ID, func(_ *message, known bool) (*message, bool) { return nil, known })
	}
}

// of gives the click of somebody on a message, once it is answered.
func (s *asides) of(ctx context.Context, message string, who chat.UserID, now time.Time) (interaction, bool) {
	c, ok := s.last.Get(clickOn{message, who})
	if !ok || now.Sub(c.at) >= tokenStays {
		return interaction{}, false
	}
	select {
	case <-c.answered:
		return c.in, true
	case <-ctx.Done():
		return interaction{}, false
	}
}

// tell says something to whoever clicked, and to nobody else.
func (a *Adapter) tell(ctx context.Context, in interaction, text string) error {
	return a.rest.apart(ctx, request{
		method: "POST", path: "/webhooks/{}/{}", ids: []string{in.ApplicationID, in.Token}, body: newPage(text),
	})
}

// same says whether a message shows a part already. Where it does not it is about to
// be changed, and what it shows is not known until that was taken.
func (a *Adapter) same(ref chat.MessageRef, p part) bool {
	if face, _ := a.shown.Get(ref); face == p.face() {
		return true
	}
	a.shown.Take(ref)
	return false
}

// face is what people see of a steps message.
func (p part) face() string { return fmt.Sprint(p.content, len(p.buttons)) }

// slowAfter is how long somebody waits for an answer before it pings them.
const slowAfter = 20 * time.Second

// callBack has an answer ping whoever asked, if they had to wait for it: as the
// one who is answered, or where that message stands elsewhere, by a line. Another try
// answers a message that is old, and whoever wrote that may not wait for it.
func (s *sending) callBack(ctx context.Context) {
	p := placeOf(s.thread)
	id := s.post.ReplyTo.ID
	switch {
	case s.post.Text == nil:
		return
	case s.post.Text.Waits != nil:
		if w := s.post.Text.Waits; !p.direct() && s.a.o.Now().Sub(w.Since) >= slowAfter {
			s.call(string(w.By.ID))
		}
		return
	case id == "" || s.a.o.Now().Sub(sentAt(id)) < slowAfter:
		return
	}
	s.slow = true
	s.parts[0].silent = false
	if s.replyTo(0) != "" || p.direct() || id != p.thread {
		return
	}
	s.call(s.a.asker(ctx, p))
}

// call pings somebody by a line below the answer.
func (s *sending) call(who string) {
	last := &s.parts[len(s.parts)-1]
	if !plainID.MatchString(who) || !last.add(person(chat.User{ID: chat.UserID(who)})) {
		return
	}
	last.pings.Users, last.silent = []string{who}, false
}

// asker is who wrote the message that began a conversation.
func (a *Adapter) asker(ctx context.Context, p place) string {
	m, err := a.beginning(ctx, p)
	if err != nil || m.Author == nil {
		return ""
	}
	if u := a.asked(m); u != nil {
		return u.ID
	}
	if m.Author.Bot {
		return ""
	}
	return m.Author.ID
}
