package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"nod/agent"
	"nod/agent/facts"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
	"nod/memory/person"
)

// Inbox is the way in for adapters: people's actions become entries in the store. When
// a method returns nil, the event is safe, and the adapter may acknowledge it; fresh is
// false for a known event. Inbox also answers adapters' questions about threads.
type Inbox struct {
	Store interface {
		memory.Store
		memory.Reader
		memory.Catchup
		memory.Blobs
		memory.Notes
		memory.Counters
	}
	// Emoji are the ones that can mean something, in normal form; reactions
	// with others are not kept.
	Emoji map[string]bool
	// Agent judges words and forms at once, and describes tools to people. Limits says
	// today's limits.
	Agent  *agent.Agent
	Limits Limits
	// Factors judges the codes of people; nil: nobody has one.
	Factors interface {
		// Spend uses a code up, or says why it does not count. locked is for the log:
		// with this one the person is locked out. Without digits nothing changes.
		Spend(ctx context.Context, who, digits string) (refused, locked string, err error)
	}
}

// Message puts a message into its thread.
func (i Inbox) Message(ctx context.Context, thread chat.ThreadID, m chat.Message, eventIDs ...string) (fresh bool, err error) {
	var refs []chat.MessageRef
	if time.Since(m.Sent) > time.Minute && !m.Sent.IsZero() { // a look found it
		refs = append(refs, m.Ref)
	}
	for _, q := range m.Quoted {
		if !q.Ref.IsZero() {
			refs = append(refs, q.Ref)
		}
	}
	erased, err := person.Hidden(ctx, i.Store, refs...)
	if err != nil || erased[m.Ref] {
		return false, err
	}
	m.Quoted = slices.DeleteFunc(m.Quoted, func(q chat.Quote) bool { return erased[q.Ref] })
	m.Text = i.withoutCode(m.Text)
	plan, why := i.Agent.ReadPlan(m, cmp.Or(m.Sent, time.Now()))
	said := memory.Message{Message: m, Plan: plan, Unplanned: why, Fact: facts.Meant(i.Agent.Facts, m), Skill: i.Agent.Uses(i.Limits.Place(thread), m)}
	return i.Store.Put(ctx, thread, said, eventIDs...)
}

// in is the agent of a thread's channel.
func (i Inbox) in(thread chat.ThreadID) *agent.Agent { return i.Agent.In(i.Limits.Place(thread)) }

// withoutCode takes a code from a word that approves, where codes are used: they are in no
// entry.
func (i Inbox) withoutCode(text string) string {
	if i.Agent.Codes() {
		text, _ = chat.WithoutCode(text)
	}
	return text
}

// Reaction puts a reaction into the thread of the message that it is on.
func (i Inbox) Reaction(ctx context.Context, r chat.Reaction, eventIDs ...string) (fresh bool, err error) {
	r.Emoji = chat.NormalEmoji(r.Emoji)
	if !i.Emoji[r.Emoji] {
		return false, nil
	}
	return i.Store.PutRef(ctx, r.On, memory.Reaction{Reaction: r}, eventIDs...)
}

// Edited replaces the text of a message, as far as nothing has read it yet.
func (i Inbox) Edited(ctx context.Context, ref chat.MessageRef, text string, eventIDs ...string) (fresh bool, err error) {
	if erased, err := person.Hidden(ctx, i.Store, ref); err != nil || erased[ref] {
		return false, err
	}
	return i.Store.PutRef(ctx, ref, memory.Edited{Ref: ref, Text: i.withoutCode(text)}, eventIDs...)
}

// Deleted takes a message back, as far as nothing has read it yet.
func (i Inbox) Deleted(ctx context.Context, ref chat.MessageRef, eventIDs ...string) (fresh bool, err error) {
	return i.Store.PutRef(ctx, ref, memory.Deleted{Ref: ref}, eventIDs...)
}

// Halt asks that the thread's running turn stop.
func (i Inbox) Halt(ctx context.Context, thread chat.ThreadID, by chat.User, eventIDs ...string) (fresh bool, err error) {
	return i.Store.Put(ctx, thread, memory.Halt{By: by}, eventIDs...)
}

// Left says that nobody is there any more who could decide in the thread.
func (i Inbox) Left(ctx context.Context, thread chat.ThreadID, by chat.User, eventIDs ...string) (fresh bool, err error) {
	return i.Store.Put(ctx, thread, memory.Left{By: by}, eventIDs...)
}

// Reason says why a person denied a call; "" that they closed the form.
func (i Inbox) Reason(ctx context.Context, thread chat.ThreadID, call string, by chat.User, text string, eventIDs ...string) (fresh bool, err error) {
	return i.Store.Put(ctx, thread, memory.Reason{Call: call, By: by, Text: text}, eventIDs...)
}

// Feedback puts a person's opinion of an answer; text is their complaint.
func (i Inbox) Feedback(ctx context.Context, on chat.MessageRef, by chat.User, good bool, text string, eventIDs ...string) (fresh bool, err error) {
	return i.Store.PutRef(ctx, on, memory.Feedback{On: on, By: by, Good: good, Text: text}, eventIDs...)
}

// Note keeps a small value for an adapter's next start, under a name of its own.
func (i Inbox) Note(ctx context.Context, name string, value []byte) error {
	return i.Store.Note(ctx, name, value)
}

// Noted gives the value of a name, or nothing.
func (i Inbox) Noted(ctx context.Context, name string) ([]byte, error) {
	return i.Store.Noted(ctx, name)
}

// Keep keeps the content of an attached file and names it. Where there is no room for
// it the error is a [chat.NoRoomError].
func (i Inbox) Keep(ctx context.Context, thread chat.ThreadID, data []byte) (blob string, err error) {
	blob, err = i.Store.PutBlob(ctx, thread, data)
	if why := full(err); why != "" {
		err = chat.NoRoomError{Why: why}
	}
	return blob, err
}

// Blob gives the content of a file, or memory.ErrNoBlob, which is chat.ErrNoFile
// too.
func (i Inbox) Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error) {
	data, err := i.Store.Blob(ctx, thread, name)
	if errors.Is(err, memory.ErrNoBlob) {
		err = fmt.Errorf("%w: %w", chat.ErrNoFile, err)
	}
	return data, err
}

// Watermarks lists the threads of a platform that were touched since then, of more than
// so many those that were touched last; 0: all.
func (i Inbox) Watermarks(ctx context.Context, platform string, since time.Time, most int) iter.Seq2[chat.Watermark, error] {
	return i.Store.Watermarks(ctx, platform, since, most)
}

// Pending lists a platform's waiting approvals. It reads each log when its turn comes:
// a look at thousands takes hours, and must not hold up the store meanwhile.
func (i Inbox) Pending(ctx context.Context, platform string) iter.Seq2[chat.Pending, error] {
	return func(yield func(chat.Pending, error) bool) {
		var waiting []memory.PendingApproval
		for p, err := range i.Store.Pending(ctx, platform) {
			if err != nil {
				yield(chat.Pending{}, err)
				return
			}
			waiting = append(waiting, p)
		}
		for _, p := range waiting {
			full, err := i.pending(ctx, p)
			for _, one := range full {
				if !yield(one, err) || err != nil {
					return
				}
			}
		}
	}
}

// pending gives an approval that waits: its card in the thread first.
func (i Inbox) pending(ctx context.Context, p memory.PendingApproval) ([]chat.Pending, error) {
	entries, err := i.Store.Read(ctx, p.Thread)
	if err != nil {
		return []chat.Pending{{}}, err
	}
	full := view.Pending(entries, p.Call)
	full[0].Thread, full[0].Call, full[0].Ref = p.Thread, p.Call, p.Ref
	return full, nil
}

// Steps gives the steps of a turn in full, of the newest one when turn is "".
func (i Inbox) Steps(ctx context.Context, thread chat.ThreadID, turn string) (chat.Steps, bool, error) {
	entries, err := i.Store.Read(ctx, thread)
	if err != nil {
		return chat.Steps{}, false, err
	}
	steps, ok := view.StepsOf(entries, turn)
	return steps, ok, nil
}

// Standing gives the state of a thread, with its inbox.
func (i Inbox) Standing(ctx context.Context, thread chat.ThreadID) (chat.Standing, error) {
	tail, err := i.Store.Tail(ctx, thread, 0)
	if err != nil {
		return chat.Standing{}, fmt.Errorf("read thread: %w", err)
	}
	return view.Standing(agent.NewLog(tail.Log, agent.Claim{}).Thread, tail.Inbox...), nil
}

// Files lists the names of the files that a thread holds.
func (i Inbox) Files(ctx context.Context, thread chat.ThreadID) ([]string, error) {
	entries, err := i.Store.Read(ctx, thread)
	if err != nil {
		return nil, err
	}
	return view.FilesOf(entries), nil
}

// History lists the shown posts of a thread.
func (i Inbox) History(ctx context.Context, thread chat.ThreadID) ([]chat.Line, error) {
	entries, err := i.Store.Read(ctx, thread)
	if err != nil {
		return nil, err
	}
	return view.History(agent.NewLog(entries, agent.Claim{}).Thread), nil
}
