// Package web is a small team workspace in the browser: a platform like the
// others, with channels and threads, a direct conversation, three people to be,
// reactions, buttons, files, steps that fold and approvals. It is there to be
// tried without an account, and to see what a team sees.
//
// The one idea is that the page is a picture of a [board], drawn on the server:
// each message is a piece of HTML with a number that grows when it changes. A
// browser that says how far it has seen is sent what is newer (see stream.go),
// so that a slow one skips what was replaced meanwhile, and one that was away
// goes on where it was. What people do comes in as plain forms.
//
// The board is not kept. At the start it is made of what the store knows of the
// conversations (load.go); what the store does not know, such as reactions that
// mean nothing, is gone then.
//
// It trusts nobody: see package door for who is let in. It serves loopback addresses
// only, and its pages load nothing from elsewhere.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"nod/adapters/web/door"
	"nod/chat"
	"nod/front"
)

// Options set up an [Adapter].
type Options struct {
	Address string // where it listens: a loopback address with a port
	Inbox   front.Inbox
	Logger  *slog.Logger
	// Print writes a line for the person who started the program, and nowhere
	// else: the link that opens the page.
	Print func(line string)
	// Terminal is a conversation that is held elsewhere and shown here; its
	// platform says when it changed ([Adapter.Changed]). The zero one is none.
	Terminal chat.ThreadID
	Hints    []string // what one may try, shown where nothing was said
	Together []string // the same, where it takes somebody else
	Now      func() time.Time
	Notes    door.Notes // keep who was let in over restarts
}

// Adapter is the page. Its methods may be called concurrently, before Run too.
type Adapter struct {
	*front.Front

	o       Options
	log     *slog.Logger
	board   *board
	door    *door.Door
	listens net.Listener
	mirror  chan struct{} // the conversation of the terminal changed
}

// New listens on the address and makes the adapter; [Adapter.Run] serves it.
func New(o Options) (*Adapter, error) {
	if o.Inbox == nil {
		return nil, errors.New("make the page: an inbox is needed")
	}
	l, err := door.Listen(o.Address)
	if err != nil {
		return nil, err
	}
	a := &Adapter{o: o, log: o.Logger, board: newBoard(), listens: l, mirror: make(chan struct{}, 1)}
	a.Front = newFront(a)
	a.door = door.New(door.Options{
		Address: l.Addr().String(), Print: o.Print, Logger: o.Logger,
		Access: Access(o.Notes, o.Now),
		Renew:  "The newest one stands where nod was started.",
	})
	return a, nil
}

// Access is the access to this page as a store keeps it.
func Access(notes door.Notes, now func() time.Time) *door.Access {
	return &door.Access{Notes: notes, Page: "workspace", Now: now}
}

func newFront(a *Adapter) *front.Front {
	return front.New(a, front.Options{
		Common: front.Common{Inbox: a.o.Inbox, Logger: a.log, Now: a.o.Now}, Platform: Platform, Room: wide, Open: a.openForm, Trigger: time.Minute,
	})
}

// Run shows what was said before, prints the link, and serves the page until ctx
// is done.
func (a *Adapter) Run(ctx context.Context) error {
	if err := a.load(ctx); err != nil {
		_ = a.listens.Close()
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { a.follow(ctx); return nil })
	all.Go(func() error { return door.Serve(ctx, a.listens, a.Handler()) })
	a.door.Announce(ctx)
	return all.Wait()
}

// Ready says whether the page is there, which it is from New on.
func (a *Adapter) Ready() bool { return true }

// Members says nobody: there are no groups and no roles here.
func (a *Adapter) Members(context.Context, chat.ThreadID, string, []chat.UserID) ([]chat.UserID, error) {
	return nil, nil
}

// Possible says no of those, for the same reason. In a direct conversation there is nobody
// else, either.
func (a *Adapter) Possible(_ context.Context, thread chat.ThreadID, rule string) bool {
	return rule == chat.Anyone && !a.Direct(thread)
}
