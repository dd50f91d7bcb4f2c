package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// event is something that people did, on its way from the platform to nod: it is
// delivered again and again until a process says that it has it.
type event struct {
	id     string
	thread chat.ThreadID
	what   any // chat.Message, *memory.Message (an alert), chat.Reaction, edited, deleted, chat.User (a halt)
	acked  bool
	tries  int
	at     time.Duration
}

type edited struct {
	ref  chat.MessageRef
	text string
}

type deleted struct{ ref chat.MessageRef }

func user(name string) chat.User { return chat.User{ID: chat.UserID("U" + name), Name: name} }

// play does what the script says.
func (w *world) play(a action) {
	w.logf("%s %s t%d p%d %s %s", a.kind, a.who, a.thread, a.slot, a.about, a.text)
	switch a.kind {
	case says, twice:
		w.say(a)
	case alarms:
		w.alarm(a)
	case edits:
		w.send(w.threads[a.thread], edited{w.refOf(a.about), a.text})
	case deletes:
		w.send(w.threads[a.thread], deleted{w.refOf(a.about)})
	case halts:
		w.send(w.threads[a.thread], user(a.who))
	case octagon:
		w.send(w.threads[a.thread], chat.Reaction{On: w.refOf(a.about), By: user(a.who), Emoji: chat.EmojiStop})
	case votes, unvotes, follows, regrets, strands, unwrites: // when something else is done
	default:
		w.trouble(a)
	}
}

func (w *world) say(a action) {
	w.said++
	ref := chat.MessageRef{Platform: platform, Channel: w.threads[a.thread].Channel, ID: fmt.Sprintf("m%d", w.said)}
	if a.about != "" {
		w.asked[a.about] = ref
		w.check.asks(a.about, a.thread, w.threads[a.thread])
	}
	m := chat.Message{Ref: ref, From: user(a.who), Text: a.text, Sent: w.now()}
	w.send(w.threads[a.thread], m)
	if a.kind == twice {
		w.send(w.threads[a.thread], m)
	}
}

// pager is the name of the alert, whose approver is ben.
const pager = "pages"

func (w *world) alarm(a action) {
	w.said++
	thread := w.threads[a.thread]
	ref := chat.MessageRef{Platform: platform, Channel: thread.Channel, ID: fmt.Sprintf("m%d", w.said)}
	if a.text != "" {
		w.asked[a.about] = ref
		w.check.asks(a.about, a.thread, thread)
	}
	w.send(thread, &memory.Message{
		Message: chat.Message{Ref: ref, From: chat.AlertUser(pager), Text: a.text, Sent: w.now()},
		Alert:   &memory.Alert{Name: pager, ID: ref.ID, Incident: a.about, As: memory.AlertAs(a.who), Times: a.n},
	})
}

// refOf is the message of a question; one that was not asked is no message.
func (w *world) refOf(q string) chat.MessageRef {
	if ref, ok := w.asked[q]; ok {
		return ref
	}
	return chat.MessageRef{Platform: platform, Channel: "c0", ID: "none"}
}

// stands has people vote on a card.
func (w *world) stands(c *card) {
	item := itemOf(c.first.Approval.Args)
	for _, a := range w.script {
		if a.about != item || a.kind != votes && a.kind != unvotes {
			continue
		}
		w.after(a.d, nil, func() {
			r := chat.Reaction{On: c.ref, By: user(a.who), Emoji: a.text, Removed: a.kind == unvotes}
			w.logf("%s %s %s on %s (%s)", a.who, a.kind, a.text, item, c.ref.ID)
			w.check.reacts(c, r)
			w.send(c.thread, r)
		})
	}
}

// answered has people go on, at once, when a question is answered.
func (w *world) answered(q string) {
	for _, a := range w.script {
		if a.kind != follows || a.about != q {
			continue
		}
		w.after(a.d, nil, func() {
			name, _, _ := strings.Cut(a.text, ":")
			w.play(action{kind: says, who: a.who, thread: a.thread, about: name, text: a.text})
		})
	}
}

// approved lets a regretful approver say so, and the store lose the decision.
func (w *world) approved(thread chat.ThreadID, item string) {
	for _, a := range w.script {
		switch {
		case a.about != item || w.had[a]:
			continue
		case a.kind == regrets:
			w.after(a.d, nil, func() {
				w.play(action{kind: says, who: a.who, thread: slices.Index(w.threads, thread), text: a.text})
			})
		case a.kind == unwrites:
			w.after(a.d, nil, func() { w.play(action{kind: forgets, d: time.Duration(a.n) * time.Millisecond}) })
		}
		w.had[a] = true // it is approved once more when the store loses that it was
	}
}

// began has the process that runs an item cut off, and the store flaky when it is
// back.
func (w *world) began(n *node, item string) {
	for _, a := range w.script {
		if a.kind != strands || a.about != item {
			continue
		}
		long := seconds(float64(a.n))
		w.after(a.d, nil, func() { w.play(action{kind: parts, slot: n.slot, d: long}) })
		w.after(a.d+long-time.Second, nil, func() { w.play(action{kind: flaky, d: 20 * time.Second}) })
	}
}

// send has an event delivered.
func (w *world) send(thread chat.ThreadID, what any) {
	w.sent++
	e := &event{id: fmt.Sprintf("e%d", w.sent), thread: thread, what: what, at: w.since}
	w.events = append(w.events, e)
	w.deliver(e)
	if w.chance(w.repeats) {
		w.after(w.between(0, 20*time.Second), nil, func() { w.deliverTo(e) })
	}
}

// patience is how long a platform waits for the acknowledgement of an event.
const patience = 3 * time.Second

// deliver brings an event to some process, until one has it.
func (w *world) deliver(e *event) {
	if e.acked {
		return
	}
	e.tries++
	late := 300 * time.Millisecond
	if w.chance(0.5) {
		late = 3 * time.Millisecond
	}
	if w.chance(w.repeats) {
		late = 8 * time.Second
	}
	w.after(w.between(0, late), nil, func() { w.deliverTo(e) })
	w.after(late+patience+w.between(0, time.Duration(min(e.tries, 8))*time.Second), nil, func() { w.deliver(e) })
}

func (w *world) deliverTo(e *event) {
	n := w.listening()
	if n == nil {
		return
	}
	n.p.Go(func() {
		if err := n.takeIn(e); err == nil {
			w.after(w.between(0, 100*time.Millisecond), nil, func() { e.acked = true })
		}
	})
}

// listening picks a process that is connected to the platform.
func (w *world) listening() *node {
	var up []*node
	for _, n := range w.nodes {
		if n != nil && !n.p.dead && !n.leaving && !w.silent {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[w.rnd.IntN(len(up))]
}
