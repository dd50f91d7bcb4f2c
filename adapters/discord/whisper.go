package discord

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/outbox"
)

// Bounds of the removal of a remark: while the bot runs, and at the end, which it holds up.
const (
	removeAtMost  = 10 * time.Minute
	removeTimeout = 5 * time.Second
)

// remarks are messages that go away again. A reaction gives no way to tell one
// person something alone, so it is told in the thread, briefly.
type remarks struct {
	mu    sync.Mutex
	ended bool
	left  map[string]leaving // by message
}

type leaving struct {
	timer  *time.Timer
	remove func(within time.Duration)
}

// Whisper tells one person something about a message, in a reply that is
// removed soon.
func (a *Adapter) Whisper(ctx context.Context, thread chat.ThreadID, to chat.User, about chat.MessageRef, text string) error {
	text = inPeople(dialect.Escape(text))
	if in, ok := a.asides.of(ctx, about.ID, to.ID, a.o.Now()); ok {
		if err := a.tell(ctx, in, text); err == nil {
			return nil // in front of nobody else
		}
	}
	p := api.PlaceOf(thread)
	h, err := a.where(ctx, p)
	if err != nil {
		return api.Final(err)
	}
	content := text
	if !p.Direct() {
		content = dialect.Person(to) + " " + content
	}
	on := about.ID
	if on == p.Thread {
		on = ""
	}
	_, err = a.sayBriefly(ctx, remark{
		thread: thread, channel: h.channel, on: on, part: layout.Part{Content: dialect.Shorten("-# "+content, layout.MostContent)},
		// The same may be told again, when what was said of it first has gone: that is another remark.
		key: "whisper " + about.ID + " " + string(to.ID) + " " + a.o.Now().String(), stays: a.o.Brief, priority: outbox.Answer,
	})
	return api.Final(err)
}

// remark is a small message of the bot's: most go away again.
type remark struct {
	thread   chat.ThreadID
	channel  string
	on       string // the message that it answers, if any
	part     layout.Part
	key      string
	stays    time.Duration
	priority outbox.Priority
}

// sayBriefly makes a message that is removed after a while, and gives its id.
func (a *Adapter) sayBriefly(ctx context.Context, m remark) (string, error) {
	var said api.Message
	r := m.request(&said)
	if err := a.Repeat(ctx, func() error { return a.rest.Call(ctx, r) }); err != nil {
		return "", err
	}
	a.remarks.keep(said.ID, m.stays, func(within time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		a.erase(ctx, m.channel, said.ID)
	})
	return said.ID, nil
}

func (m remark) request(answer any) api.Request {
	b := m.part.Change()
	if m.on != "" {
		b.Reference = layout.Answering(m.on)
	}
	if b.Flags = discordgo.MessageFlagsSuppressEmbeds; m.part.Silent {
		b.Flags |= discordgo.MessageFlagsSuppressNotifications
	}
	b.Nonce, b.Enforce = api.Nonce(m.thread, m.key, 0, 0), true
	return api.Request{Method: "POST", Path: "/channels/{}/messages", IDs: []string{m.channel}, Body: b, Priority: m.priority, Answer: answer}
}

func (a *Adapter) erase(ctx context.Context, channel, id string) {
	r := api.Request{Method: "DELETE", Path: "/channels/{}/messages/{}", IDs: []string{channel, id}, Priority: outbox.Low}
	if err := a.Repeat(ctx, func() error { return a.rest.Call(ctx, r) }); err != nil {
		a.log.Debug("remove a remark", "error", err)
	}
}

// namesRule matches the words of the configuration for those who may decide.
var namesRule = regexp.MustCompile(`\b(?:(user|role):(\d{1,20})|requester)\b`)

// inPeople writes who may decide as people are named on Discord.
func inPeople(text string) string {
	head, rules, found := strings.Cut(text, "only these may decide: ")
	if !found {
		return text
	}
	return head + "only these may decide: " + namesRule.ReplaceAllStringFunc(rules, func(rule string) string {
		switch m := namesRule.FindStringSubmatch(rule); m[1] {
		case "user":
			return "<@" + m[2] + ">"
		case "role":
			return "<@&" + m[2] + ">"
		}
		return "whoever asked"
	})
}

// keep has a remark removed after a while.
func (r *remarks) keep(id string, brief time.Duration, remove func(time.Duration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		brief = 0
	}
	r.left[id] = leaving{time.AfterFunc(brief, func() {
		if r.take(id) {
			remove(removeAtMost)
		}
	}), remove}
}

// remove has a remark removed now.
func (r *remarks) remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l, ok := r.left[id]; ok {
		l.timer.Reset(0)
	}
}

func (r *remarks) take(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.left[id]
	delete(r.left, id)
	return ok
}

// end removes what is still there, since nobody will later.
func (r *remarks) end() {
	r.mu.Lock()
	left := r.left
	r.left, r.ended = map[string]leaving{}, true
	r.mu.Unlock()
	var all sync.WaitGroup
	for _, l := range left {
		l.timer.Stop()
		all.Go(func() { l.remove(removeTimeout) })
	}
	all.Wait()
}
