package web

import (
	"context"
	"errors"
	"reflect"

	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// bot is who posts are by, among those who react.
const bot chat.UserID = nod

// Send puts a post on the board. The same post, tried again or found again after a
// restart, has the same reference and stands once.
func (a *Adapter) Send(_ context.Context, thread chat.ThreadID, m front.Message, _ bool) (chat.MessageRef, error) {
	p := m.Post
	ref := postRef(thread, p.Key)
	a.board.clear(thread, func(it *item) bool { // it is a message from now on
		return p.Text != nil && it.post.Text != nil || p.Steps != nil && it.post.Steps != nil
	})
	if !a.board.put(item{ref: ref, thread: thread, at: a.o.Now(), post: &p}) {
		a.show(ref, p)
	}
	return ref, nil
}

// Grow shows what is being written in a thread.
func (a *Adapter) Grow(thread chat.ThreadID, posts []chat.Post) {
	now := make([]item, len(posts))
	for i, p := range posts {
		now[i] = item{ref: postRef(thread, p.Key), thread: thread, at: a.o.Now(), post: &p}
	}
	a.board.grow(thread, now)
}

// Change makes a post show something else.
func (a *Adapter) Change(_ context.Context, thread chat.ThreadID, ref chat.MessageRef, m front.Message) error {
	p := m.Post
	if !a.show(ref, p) { // it stood there in an earlier process
		a.board.put(item{ref: ref, thread: thread, at: a.o.Now(), post: &p})
	}
	return nil
}

// show has an item show p, unless it shows something newer. It says whether
// there is such an item.
func (a *Adapter) show(ref chat.MessageRef, p chat.Post) bool {
	return a.board.change(ref, func(it *item) bool {
		if it.post == nil || older(p, *it.post) || reflect.DeepEqual(p, *it.post) {
			return false
		}
		it.post = &p
		return true
	})
}

// older says whether steps are an older version than those that are shown.
func older(p, shown chat.Post) bool {
	return p.Steps != nil && shown.Steps != nil && (p.Steps.Version < shown.Steps.Version || shown.Steps.Done && !p.Steps.Done)
}

// Mark puts the bot's emoji on a message.
func (a *Adapter) Mark(_ context.Context, ref chat.MessageRef, emoji string, _ outbox.Priority) error {
	a.board.change(ref, func(it *item) bool { return it.react(emoji, bot, false) })
	return nil
}

// Whisper shows something to one person.
func (a *Adapter) Whisper(_ context.Context, thread chat.ThreadID, to chat.User, _ chat.MessageRef, text string) error {
	ref := postRef(thread, "whisper/"+newID())
	p := chat.Post{Text: &chat.Text{Markdown: text, Notice: true}}
	a.board.put(item{ref: ref, thread: thread, at: a.o.Now(), post: &p, only: to.ID})
	return nil
}

// AskWhy shows one person a form that asks what was wrong with an answer.
func (a *Adapter) AskWhy(_ context.Context, _ chat.ThreadID, to chat.User, about chat.MessageRef) error {
	known := a.board.change(about, func(it *item) bool {
		it.wrong = append(it.wrong, to.ID)
		return true
	})
	if !known {
		return errors.New("ask what was wrong: the answer is not shown")
	}
	return nil
}

// Working shows what the bot does now.
func (a *Adapter) Working(thread chat.ThreadID, w chat.Work) { a.board.work(thread, w) }
