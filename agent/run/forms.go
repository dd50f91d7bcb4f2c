package run

import (
	"context"

	"nod/chat"
	"nod/memory"
)

// Card is an approval as people see it now, for a form in which they change the
// call; ok is false where there is none any more.
func (i Inbox) Card(ctx context.Context, thread chat.ThreadID, call string) (v chat.Approval, ok bool, err error) {
	if i.Agent == nil {
		return v, false, nil
	}
	entries, err := i.Store.Read(ctx, thread)
	if err != nil {
		return v, false, err
	}
	v, ok = i.Agent.Card(entries, call)
	return v, ok, nil
}

// Change puts that a call that waits is to run with other arguments. Refused says,
// to whoever wants that, why it does not: then nothing was put. What can't be told
// at once is told to them later.
func (i Inbox) Change(ctx context.Context, thread chat.ThreadID, c chat.Change, eventIDs ...string) (refused string, err error) {
	b := memory.Change{Call: c.Call, By: c.By, Args: c.Args, Digest: c.Digest}
	if i.Agent != nil {
		entries, err := i.Store.Read(ctx, thread)
		if err != nil {
			return "", err
		}
		if refused := i.Agent.Refuses(entries, b); refused != "" {
			return refused, nil
		}
	}
	_, err = i.Store.Put(ctx, thread, b, eventIDs...)
	return "", err
}
