package discord

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/outbox"
	"nod/front"
)

// A button's id says what it is about; what a click means is put like what it stands for,
// and judged there.

// The kinds of buttons, and of the forms behind them, with which their ids begin.
const (
	voteButton  = "vote"
	grantButton = "grant"
	reasonForm  = "reason"
	editButton  = "edit"
	editForm    = "edited"
	codeButton  = "code"
	codeForm    = "coded"
	allowButton = "allow" // with a code
	allowForm   = "allowed"
	rerunButton = "rerun"
	rerunForm   = "reran"
	goodButton  = "good"
	badButton   = "bad"
	tellButton  = "tell"
	wrongForm   = "wrong"
	retryButton = "again"
)

// kinds are the forms that a click opens; meanings what is meant by an id.
var (
	kinds    = map[front.Verb]string{front.Deny: reasonForm, front.Edit: editForm, front.Rerun: rerunForm, front.Bad: wrongForm, front.Code: codeForm, front.GrantBy: allowForm}
	meanings = map[string]front.Verb{
		voteButton: front.Approve, copyButton: front.Approve, grantButton: front.Grant, reasonForm: front.Deny,
		codeButton: front.Code, codeForm: front.Code, allowButton: front.GrantBy, allowForm: front.GrantBy,
		editButton: front.Edit, editForm: front.Edit, rerunButton: front.Rerun, rerunForm: front.Rerun,
		goodButton: front.Good, badButton: front.Bad, wrongForm: front.Bad, tellButton: front.Tell, retryButton: front.TryAgain,
	}
)

// idOf writes the id of a button or a form; "" where it would be too long for Discord.
func idOf(kind string, c front.Click) string {
	at := api.PlaceOf(c.Thread).String()
	switch kind {
	case voteButton, grantButton, copyButton, reasonForm:
		verdict := "yes"
		if c.Verb == front.Deny {
			verdict = "no"
		}
		return layout.CustomID(kind, at, c.Call, verdict, c.Emoji)
	case editButton, editForm, codeButton, codeForm, allowButton, allowForm:
		return layout.CustomID(kind, at, c.Call, c.Digest[:min(len(c.Digest), 12)])
	case rerunButton, rerunForm:
		return layout.CustomID(kind, at, c.Call)
	}
	return layout.CustomID(kind, at, c.On.ID)
}

// readClick reads what a button, or the form behind it, is about. One that names another
// channel than the one in which it stands is refused, but for a code: its form opens from a
// card elsewhere too.
func readClick(in api.Interaction) (c front.Click, err error) {
	parts := strings.Split(in.Data.CustomID, "|")
	c = front.Click{Verb: meanings[parts[0]], ID: api.InteractionKey(in.ID)}
	size := map[front.Verb]int{front.Approve: 5, front.Grant: 5, front.Deny: 5, front.Edit: 4, front.Code: 4, front.GrantBy: 4}[c.Verb]
	if c.Verb == "" || len(parts) != max(3, size) {
		return c, fmt.Errorf("%w: button", api.ErrMalformed)
	}
	at, on := api.ReadPlace(parts[1]), ""
	if !in.In(at) && !c.Verb.Codes() {
		return c, errForeign
	}
	if c.Thread, c.Call = api.ThreadID(at), parts[2]; size == 0 && c.Verb != front.Rerun {
		c.Call, on = "", parts[2]
	}
	switch size {
	case 5:
		if c.Emoji = parts[4]; c.Verb == front.Approve && parts[3] == "no" {
			c.Verb = front.Deny
		}
	case 4:
		c.Digest = parts[3]
	}
	if c.Copied = parts[0] == copyButton; in.Message == nil && on == "" {
		return c, nil
	} else if on == "" {
		on = in.Message.ID
	}
	if c.Copied && in.GuildID != "" && at.Direct() {
		at.Thread = on // see refIn
	}
	c.On = api.RefOf(at, on)
	return c, nil
}

// cardButtons draws the buttons of an approval. One that is too long for Discord is left
// out. Forms are about the thread: on a card elsewhere there are Approve and Deny alone, or
// the form of a code.
func cardButtons(thread chat.ThreadID, p *chat.Approval, all []front.Button) []discordgo.MessageComponent {
	kinds := map[front.Verb]string{front.Approve: voteButton, front.Deny: voteButton, front.Grant: grantButton}
	forms := map[front.Verb]string{front.Code: codeButton, front.GrantBy: allowButton, front.Edit: editButton}
	styles := map[front.Verb]discordgo.ButtonStyle{front.Approve: discordgo.SuccessButton, front.Code: discordgo.SuccessButton, front.Deny: discordgo.DangerButton}
	if p.Home != (chat.ThreadID{}) {
		kinds = map[front.Verb]string{front.Approve: copyButton, front.Deny: copyButton}
	}
	var out []discordgo.MessageComponent
	for _, b := range all {
		id := ""
		if kind := kinds[b.Verb]; kind != "" {
			id = idOf(kind, front.Click{Verb: b.Verb, Thread: thread, Call: p.Call, Emoji: b.Emoji})
		} else if kind = forms[b.Verb]; kind != "" && (b.Verb.Codes() || p.Home == (chat.ThreadID{})) {
			id = idOf(kind, front.Click{Thread: cmp.Or(p.Home, thread), Call: p.Call, Digest: p.Digest})
		}
		if style := cmp.Or(styles[b.Verb], discordgo.SecondaryButton); id != "" {
			out = append(out, discordgo.Button{Label: b.Label, Style: style, CustomID: id})
		}
	}
	return out
}

// pressed takes in a click. There is no time to look the person up before a form opens, and
// the judge of votes does that itself.
func (a *Adapter) pressed(ctx context.Context, in api.Interaction) error {
	if want, ok := layout.ReadButton(in.Data.CustomID); ok && want.Kind == layout.StopButton {
		if !in.In(want.Place) {
			return errForeign
		}
		return a.halt(ctx, in, want.Place, api.UserOf(*in.User, in.Member))
	} else if ok {
		return a.showSteps(ctx, in, want)
	}
	c, err := readClick(in)
	if err != nil {
		return err
	}
	c.By = api.UserOf(*in.User, in.Member)
	if !c.Verb.Opens() && !c.Verb.Votes() {
		if c.By.Barred, err = a.people.Barred(ctx, speakerOf(in)); err != nil {
			return a.sorry(ctx, in, err)
		}
	}
	return a.takeClick(ctx, in, front.Sent{Click: c}, func(ctx context.Context) (front.Answer, error) { return a.Click(ctx, c) })
}

func (a *Adapter) filled(ctx context.Context, in api.Interaction) error {
	if strings.HasPrefix(in.Data.CustomID, aboutForm+"|") {
		return a.askedAbout(ctx, in, in.Data.CustomID)
	}
	c, err := readClick(in)
	if err != nil {
		return err
	}
	s := front.Sent{Click: c}
	if c.Verb.Opens() { // and holds arguments
		if s.Fields, err = fieldsOf(in.Data.Components); err != nil {
			return err
		}
	} else {
		s.Text = fieldOf(in.Data.Components)
	}
	s.By = api.UserOf(*in.User, in.Member)
	if s.By.Barred, err = a.people.Barred(ctx, speakerOf(in)); err != nil {
		return a.sorry(ctx, in, err)
	}
	s.Heard = s.By.Barred == ""
	return a.takeClick(ctx, in, s, func(ctx context.Context) (front.Answer, error) { return a.Sent(ctx, s) })
}

// takeClick has front handle a click or a form, within the time that there is, and answers
// it. Later remarks to the person about the message go out through this interaction too.
func (a *Adapter) takeClick(ctx context.Context, in api.Interaction, s front.Sent, do func(context.Context) (front.Answer, error)) error {
	defer a.asides.clicked(clickOn{s.On.ID, s.By.ID}, in, a.o.Now())()
	within, cancel := context.WithTimeout(ctx, a.o.Defer)
	defer cancel()
	ans, err := do(within)
	if err != nil {
		return a.sorry(ctx, in, err)
	}
	if s.Verb.Codes() {
		s.Fields = nil // nobody quotes a code
	}
	return a.answer(ctx, in, ans, s.Fields)
}

// asides are clicks and commands whose answer may still be said to one person
// alone, and what came along with some.
type asides struct {
	last    bounded.Map[clickOn, aside]
	targets bounded.Map[string, api.Message]  // of message commands
	along   bounded.Map[string, *api.Message] // by interaction, whose question is put with it; nil once it is
}

type aside struct {
	in       api.Interaction
	at       time.Time
	answered chan struct{} // closed once it has its first answer, before which it takes no other
}

const tokenStays = 14 * time.Minute

// clickOn is who clicked, and on which message; or a command.
type clickOn struct {
	on  string
	who chat.UserID
}

// clicked notes a click. What it returns is to be called when it is answered.
func (s *asides) clicked(on clickOn, in api.Interaction, now time.Time) (answered func()) {
	c := aside{in, now, make(chan struct{})}
	s.last.Put(on, c)
	return func() { close(c.answered) }
}

// waits notes a command whose answer is for whoever gave it.
func (s *asides) waits(in api.Interaction, now time.Time) {
	s.clicked(clickOn{on: in.ID}, in, now)()
}

// take gives the command that a post answers, once.
func (s *asides) take(id string) (api.Interaction, bool) {
	c, ok := s.last.Take(clickOn{on: id})
	return c.in, ok
}

// waitAtMost is how long a command may look unanswered.
const waitAtMost = 20 * time.Second

// late does something about a command that nothing has answered for a while.
func (s *asides) late(ctx context.Context, in api.Interaction, do func(context.Context) error) {
	ctx = context.WithoutCancel(ctx)
	time.AfterFunc(waitAtMost, func() {
		if _, waits := s.take(in.ID); waits {
			ctx, cancel := context.WithTimeout(ctx, api.CallTimeout)
			defer cancel()
			_ = do(ctx)
		}
	})
}

// brings notes what came along with a question, before it is shown.
func (s *asides) brings(id string, m api.Message) {
	s.along.Swap(id, func(_ *api.Message, known bool) (*api.Message, bool) { return &m, !known })
}

// completes gives a question what came along with it. It says whether that was put
// already.
func (s *asides) completes(m *api.Message) (put bool) {
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
func (s *asides) isPut(m api.Message) {
	if m.Interaction != nil {
		s.along.Swap(m.Interaction.ID, func(_ *api.Message, known bool) (*api.Message, bool) { return nil, known })
	}
}

// of gives the click of somebody on a message, once it is answered.
func (s *asides) of(ctx context.Context, message string, who chat.UserID, now time.Time) (api.Interaction, bool) {
	c, ok := s.last.Get(clickOn{message, who})
	if !ok || now.Sub(c.at) >= tokenStays {
		return api.Interaction{}, false
	}
	select {
	case <-c.answered:
		return c.in, true
	case <-ctx.Done():
		return api.Interaction{}, false
	}
}

// tell says something to whoever clicked, and to nobody else.
func (a *Adapter) tell(ctx context.Context, in api.Interaction, text string) error {
	return a.rest.Apart(ctx, api.Request{
		Method: "POST", Path: "/webhooks/{}/{}", IDs: []string{in.ApplicationID, in.Token}, Body: newPage(text),
	})
}

// same says whether a message shows a part already. Where it does not it is about to
// be changed, and what it shows is not known until that was taken.
func (a *Adapter) same(ref chat.MessageRef, p layout.Part) bool {
	if face, _ := a.shown.Get(ref); face == p.Face() {
		return true
	}
	a.shown.Take(ref)
	return false
}

const slowAfter = 20 * time.Second

// callBack has an answer ping whoever asked, if they had to wait for it: as the
// one who is answered, or where that message stands elsewhere, by a line. Another try
// answers a message that is old, and whoever wrote that may not wait for it.
func (s *sending) callBack(ctx context.Context) {
	p := api.PlaceOf(s.thread)
	id := s.post.ReplyTo.ID
	switch {
	case s.post.Text == nil:
		return
	case s.post.Text.Waits != nil:
		if w := s.post.Text.Waits; !p.Direct() && s.a.o.Now().Sub(w.Since) >= slowAfter {
			s.call(string(w.By.ID))
		}
		return
	case id == "" || s.a.o.Now().Sub(api.SentAt(id)) < slowAfter:
		return
	}
	s.slow = true
	s.parts[0].Silent = false
	if s.replyTo(0) != "" || p.Direct() || id != p.Thread {
		return
	}
	s.call(s.a.asker(ctx, p))
}

// call pings somebody by a line below the answer.
func (s *sending) call(who string) {
	last := &s.parts[len(s.parts)-1]
	if !api.PlainID.MatchString(who) || !last.Add(dialect.Person(chat.User{ID: chat.UserID(who)})) {
		return
	}
	last.Pings.Users, last.Silent = []string{who}, false
}

// asker is who wrote the message that began a conversation.
func (a *Adapter) asker(ctx context.Context, p api.Place) string {
	m, err := a.message(ctx, p.Channel, p.Thread, outbox.Answer)
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
