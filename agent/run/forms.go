package run

import (
	"context"

	"nod/agent/approval"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// Card is the present approval of a call, for a form that changes it; ok is false if
// there is none any more.
func (i Inbox) Card(ctx context.Context, thread chat.ThreadID, call string) (v chat.Approval, ok bool, err error) {
	entries, err := i.Store.Read(ctx, thread)
	if err != nil {
		return v, false, err
	}
	v, ok = i.in(thread).Card(entries, call)
	return v, ok, nil
}

// Judged tells a person who denied a call the result of that; "" until somebody has
// judged it.
func (i Inbox) Judged(ctx context.Context, thread chat.ThreadID, call string, by chat.UserID) (said string, err error) {
	entries, err := i.Store.Read(ctx, thread)
	if err != nil {
		return "", err
	}
	return approval.Judged(entries, call, by), nil
}

// Change puts a request to run a waiting call with other arguments. refused says why
// that is impossible; then nothing was put. Later findings are told to the person
// afterwards.
func (i Inbox) Change(ctx context.Context, thread chat.ThreadID, c chat.Change, eventIDs ...string) (refused string, err error) {
	b := memory.Change{Call: c.Call, By: c.By, Args: c.Args, Digest: c.Digest}
	entries, err := i.Store.Read(ctx, thread)
	if err != nil {
		return "", err
	}
	if refused := i.in(thread).Refuses(entries, b); refused != "" {
		return refused, nil
	}
	_, err = i.Store.Put(ctx, thread, b, eventIDs...)
	return "", err
}

// Code puts the vote of a person whose code is right; refused says why it is not. The code
// is used up first: after a crash between the two it counts for nothing.
func (i Inbox) Code(ctx context.Context, thread chat.ThreadID, c chat.Code, eventIDs ...string) (refused string, err error) {
	if i.Factors == nil {
		return "There are no codes here", nil
	}
	entries, err := i.Store.Read(ctx, thread)
	if err != nil {
		return "", err
	}
	vote, refused := approval.Coded(entries, c)
	if refused != "" {
		return refused, nil
	}
	refused, locked, err := i.Factors.Spend(ctx, thread.Platform+":"+string(c.By.ID), c.Digits)
	switch {
	case err != nil:
		return "", err
	case locked != "": // the log tells it by a vote that does not count
		vote.By.Barred, eventIDs = locked, nil
	case refused != "" || c.Digits == "":
		return refused, nil
	}
	_, err = i.Store.Put(ctx, thread, vote, eventIDs...)
	return refused, err
}

// Again is a call of a turn that is over as it stands, for a form in which a person
// edits it and runs it again; why says why that can't be.
func (i Inbox) Again(ctx context.Context, thread chat.ThreadID, call string) (v chat.Again, why string, err error) {
	entries, err := i.Store.Read(ctx, thread)
	if err != nil {
		return v, "", err
	}
	v, why = view.Again(i.in(thread).Tools, entries, call)
	return v, why, nil
}

// RunAgain puts that a person runs a call of a turn that is over again, with the
// arguments that they sent. Refused says why it does not run: then nothing was put.
func (i Inbox) RunAgain(ctx context.Context, thread chat.ThreadID, c chat.Change, eventIDs ...string) (refused string, err error) {
	entries, err := i.Store.Read(ctx, thread)
	if err != nil {
		return "", err
	}
	order, refused := view.Reruns(i.in(thread).Tools, entries, c)
	if refused != "" {
		return refused, nil
	}
	_, err = i.Store.Put(ctx, thread, order, eventIDs...)
	return "", err
}
