package discord

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/singleflight"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/markdown"
	"nod/chat/outbox"
)

// home is the channel in which a conversation is written.
type home struct {
	channel string
	replyTo string // where no thread could be made: the message that everything answers
}

// homes knows which conversations are chains of replies, and which messages
// stand in them. A thread needs no note: the atlas has it.
type homes struct {
	flat   bounded.Map[api.Place, bool]
	places bounded.Map[string, api.Place] // by message
	join   singleflight.Group
	queue  chan opening // threads to make beside whatever else happens
}

type opening struct {
	place api.Place
	title string
	asker *api.User // who gave the command, where the message is the bot's echo of it
}

const mostNoted = 10_000

// noted gives the home of a place as far as it is known.
func (a *Adapter) noted(p api.Place) (home, bool) {
	if p.Direct() {
		return home{channel: p.Channel}, true
	}
	if flat, _ := a.homes.flat.Get(p); flat { // whether there is a thread or not
		return home{p.Channel, p.Thread}, true
	}
	if c, ok := a.atlas.Known(p.Thread); ok && c.IsThread() {
		return home{channel: p.Thread}, true
	}
	return home{}, false
}

// where finds the home of a conversation that has begun.
func (a *Adapter) where(ctx context.Context, p api.Place) (home, error) {
	if h, ok := a.noted(p); ok {
		return h, nil
	}
	_, err := a.atlas.AskChannel(ctx, p.Thread)
	switch {
	case err == nil:
		return home{channel: p.Thread}, nil
	case api.Code(err) == discordgo.ErrCodeUnknownChannel:
		return home{p.Channel, p.Thread}, nil
	}
	return home{}, fmt.Errorf("look for the thread: %w", err)
}

// move finds the home of a conversation, and makes its thread if there is none.
// Those who ask at the same time ask once.
func (a *Adapter) move(ctx context.Context, p api.Place, title string) (home, error) {
	if h, ok := a.noted(p); ok {
		return h, nil
	}
	if a.atlas.Gone(p.Thread) { // somebody didn't want it
		return home{}, fmt.Errorf("%w: the thread was deleted", chat.ErrGone)
	}
	got := a.homes.join.DoChan(p.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*api.CallTimeout)
		defer cancel()
		return a.makeThread(ctx, p, title)
	})
	select {
	case r := <-got:
		h, _ := r.Val.(home)
		return h, r.Err
	case <-ctx.Done():
		return home{}, ctx.Err()
	}
}

// makeThread makes the thread of a message, which has the message's id, so that
// it can't be made twice. Where Discord refuses for good, and there is no such thread,
// the conversation goes on in the channel.
func (a *Adapter) makeThread(ctx context.Context, p api.Place, title string) (home, error) {
	const both = discordgo.PermissionCreatePublicThreads | discordgo.PermissionSendMessagesInThreads
	if may, known := a.atlas.May(ctx, p.Channel); known && may&both == discordgo.PermissionCreatePublicThreads {
		if h, err := a.where(ctx, p); err != nil || h.replyTo == "" { // it is there, and may be private
			return h, err
		}
		a.log.Warn("a thread could be made but not written in, answering in the channel", "thread", api.ThreadID(p).String())
		a.homes.flat.Put(p, true) // an empty thread would be all that people see
		return home{p.Channel, p.Thread}, nil
	}
	if title == "" {
		if m, err := a.message(ctx, p.Channel, p.Thread, outbox.Answer); err == nil {
			title = a.words(m).Readable(m.Content)
		}
	}
	made, err := a.makeNamed(ctx, p, threadName(title))
	if api.Code(err) == api.CodeTitle || api.Code(err) == api.CodeAutoMod {
		made, err = a.makeNamed(ctx, p, unnamed)
	}
	switch {
	case err == nil && made.IsThread():
		a.atlas.Put(made)
		return home{channel: p.Thread}, nil
	case err == nil, api.Code(err) == api.CodeThreadExists:
		a.atlas.Put(api.Channel{ID: p.Thread, Type: discordgo.ChannelTypeGuildPublicThread, ParentID: p.Channel})
		return home{channel: p.Thread}, nil
	case !api.Refused(err), api.Passes(err) && api.Code(err) != api.CodeOff:
		return home{}, fmt.Errorf("make the thread: %w", err)
	}
	why := err
	h, err := a.where(ctx, p)
	if err == nil && h.replyTo != "" {
		a.log.Warn("no thread can be made, answering in the channel", "thread", api.ThreadID(p).String(), "error", why)
		a.homes.flat.Put(p, true)
	}
	return h, err
}

func (a *Adapter) makeNamed(ctx context.Context, p api.Place, name string) (made api.Channel, err error) {
	err = a.Repeat(ctx, func() error {
		return a.rest.Call(ctx, api.Request{
			Method: "POST", Path: "/channels/{}/messages/{}/threads", IDs: []string{p.Channel, p.Thread},
			Body: map[string]any{"name": name, "auto_archive_duration": archiveAfter(a.o.Archive)}, Priority: outbox.Approval, Answer: &made,
		})
	})
	return made, err
}

// archiveAfter is the shortest time after which Discord may archive a thread, in
// minutes, that is a day and no less than an approval waits: nobody can react in an
// archived thread.
func archiveAfter(least time.Duration) int {
	for _, m := range []int{1440, 4320} {
		if least <= time.Duration(m)*time.Minute {
			return m
		}
	}
	return 10080
}

// open asks for the thread of a place to be made soon. Posting there waits for
// it, or makes it if that failed.
func (a *Adapter) open(o opening) {
	select {
	case a.homes.queue <- o:
	default:
	}
}

// bring makes somebody a member of a thread, so that they see it in their list. It
// is the author of the first message who is that anyway, and of what a command
// asked that is the bot.
func (a *Adapter) bring(ctx context.Context, thread, user string) {
	err := a.rest.Call(ctx, api.Request{
		Method: "PUT", Path: "/channels/{}/thread-members/{}", IDs: []string{thread, user}, Priority: outbox.Low,
	})
	if err != nil {
		a.log.Debug("bring whoever asked into the thread", "error", err)
	}
}

func (a *Adapter) openThreads(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-a.homes.queue:
			all.Go(func() {
				h, err := a.move(ctx, o.place, o.title)
				if err != nil && ctx.Err() == nil {
					a.log.Warn("open a thread", "thread", api.ThreadID(o.place).String(), "error", err)
				}
				if err == nil && h.replyTo == "" && o.asker != nil {
					a.bring(ctx, h.channel, o.asker.ID)
				}
			})
		}
	}
}

// mostTitle is the longest name of a thread; unnamed is the name of one whose
// question makes none.
const (
	mostTitle = 100
	unnamed   = "Conversation"
)

func threadName(question string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(question), "\n")
	if name := dialect.Shorten(chat.Flat(markdown.Plain(line)), mostTitle); name != "" {
		return name
	}
	return unnamed
}

// reach lists the channels in which a message may stand, the likeliest first.
// The message that began a thread stands in the parent channel, or in a forum in the
// thread itself.
func (a *Adapter) reach(ctx context.Context, ref chat.MessageRef) ([]string, error) {
	p := api.ReadPlace(ref.Channel)
	if p.Direct() {
		return []string{p.Channel}, nil
	}
	if ref.ID == p.Thread {
		return []string{p.Channel, p.Thread}, nil
	}
	h, err := a.where(ctx, p)
	if h.replyTo != "" { // the conversation may have begun in the thread
		return []string{h.channel, p.Thread}, err
	}
	if err != nil {
		return nil, err
	}
	return []string{h.channel, p.Channel}, nil // it may have left the thread, which another process knows
}
