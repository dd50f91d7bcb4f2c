// Package terminal is the adapter behind `bot chat`: the same agent as on
// Slack or Discord, with one thread and one person, on a terminal or between
// pipes.
//
// The one idea is that a conversation can be typed or piped, and means the
// same. On a terminal the person may type at any time, and the steps of a turn
// are redrawn in place. From a pipe the next line of what is there is read once
// the bot is at rest (see gate.go), and one that comes while it works at once;
// nothing is redrawn, and every element is written once, in an order that does
// not depend on timing.
//
// All that comes from the model, from tools and from other files is made
// harmless before it is written: see clean and labelled.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"nod/chat"
	"nod/front"
)

// Options is what an Adapter is made of. In, Out and Inbox are needed.
type Options struct {
	In     io.Reader
	Out    io.Writer
	Screen Screen // what In and Out are, see Detect
	Inbox  front.Inbox
	User   chat.User // only the name counts; the id is the adapter's
	Banner string    // written once, before everything else
	Files  string    // the folder for files that tools make; made when the first one comes

	// Interrupts brings SIGINT, from signal.Notify; the caller must not end
	// the program on it. On a live screen Ctrl-C is a key and comes without.
	Interrupts <-chan os.Signal
	Now        func() time.Time // time.Now by default
}

// Adapter is the terminal as a platform. Its methods are safe for concurrent
// use; they may be called before Run and after it.
type Adapter struct {
	*front.Front

	o       Options
	newID   func() string
	changed chan struct{} // the gate may have opened
	keys    chan struct{} // Ctrl-C was pressed on a live screen
	codes   chan secret   // was typed there

	mu       sync.Mutex // guards all below
	con      console
	gate     gate
	doing    chat.Work // what the bot does
	shown    map[chat.MessageRef]*shown
	marks    map[string]bool // the bot's reactions
	asks     []*ask          // approvals that wait, by number
	numbered int             // the last number given
	newest   chat.MessageRef // the newest answer
	steps    *chat.Steps     // of the running turn
	stepsAt  *shown          // where they stand
	attached []chat.File     // go with the next message
	secret   *secret         // is being typed
	growing  []chat.Post     // is being written, and no message yet
	files    []row           // held back until the steps are folded
	answer   []row           // held back with them, and comes after them
	left     bool            // Run has returned
}

// New makes an Adapter; Run starts it.
func New(o Options) *Adapter {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.User.ID = me
	a := &Adapter{
		o: o, newID: newID,
		changed: make(chan struct{}, 1),
		keys:    make(chan struct{}, 2),
		codes:   make(chan secret, 1),
		con:     console{out: o.Out, screen: o.Screen},
		shown:   map[chat.MessageRef]*shown{},
		marks:   map[string]bool{},
	}
	a.Front = front.New(wire{a: a}, front.Options{Common: front.Common{Inbox: o.Inbox, Now: o.Now}, Platform: platform})
	return a
}

// errEnd ends a conversation that ended well.
var errEnd = errors.New("end of the conversation")

// Run shows what was said before, and then takes in what is typed until the
// end of In, a Ctrl-C that means leaving, or the end of ctx; these are no
// errors. Input that ends leaves when all that it began has ended; calls that wait for
// an approval are cancelled then, since nobody is left to decide them.
//
// One goroutine may outlive Run: a Read from a terminal can't be interrupted,
// so the reader stays in it until the process ends or a last key is pressed,
// which it drops.
func (a *Adapter) Run(ctx context.Context) error {
	past, err := a.o.Inbox.History(ctx, Thread)
	if err != nil {
		return fmt.Errorf("read the conversation: %w", err)
	}
	for i, l := range past {
		past[i].Post = front.Present(ctx, a.o.Inbox, Thread, l.Post)
	}
	input, undo, err := a.begin()
	if err != nil {
		return err
	}
	done := make(chan struct{})
	defer func() {
		close(done)
		a.end()
		_ = undo() // the terminal is gone
	}()
	if err := a.greet(past); err != nil {
		return err
	}
	lines, late := make(chan typed), make(chan typed)
	go read(input, lines, late, done)
	err = a.converse(ctx, lines, late)
	if errors.Is(err, errEnd) || ctx.Err() != nil {
		return nil
	}
	return err
}

// begin goes live where the screen can, and says where lines come from.
func (a *Adapter) begin() (source, func() error, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.o.Screen.Live {
		return newPipe(a.o.In), func() error { return nil }, nil
	}
	keys := &keyboard{in: a.o.In, adapter: a}
	undo, err := a.con.live(keys)
	if err != nil {
		return nil, nil, err
	}
	return editor{a.con.editor, keys}, undo, nil
}

// end leaves the screen as a shell expects it.
func (a *Adapter) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.flush() // the history has it
	a.con.close()
	a.left = true
}

// tail is how many lines of the past are shown at a start.
const tail = 20

// greet shows the banner, the end of the past conversation, and in full each
// approval that still waits, so that it can be answered.
func (a *Adapter) greet(past []chat.Line) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var rows []row
	if a.o.Banner != "" {
		for l := range strings.Lines(clean(a.o.Banner)) {
			rows = append(rows, row{strings.TrimRight(l, "\n"), dim})
		}
	}
	var waiting []chat.Line
	for i, l := range past {
		switch {
		case l.Post != nil && (l.Ref.IsZero() || a.shown[l.Ref] != nil):
			continue // the run is about to post it, or has
		case l.Post != nil && l.Post.Approval != nil && l.Post.Approval.Outcome == "":
			waiting = append(waiting, l)
			continue
		case l.Post != nil:
			a.recall(l)
		}
		if len(past)-i <= tail && (l.Message != nil || l.Post != nil) {
			rows = append(rows, a.pastRows(l)...)
		}
	}
	if err := a.print(rows); err != nil {
		return err
	}
	for _, l := range waiting {
		if err := a.show(l.Ref, chat.Post{Approval: l.Post.Approval}); err != nil {
			return err
		}
	}
	return a.refresh()
}

// recall notes what an earlier process has shown.
func (a *Adapter) recall(l chat.Line) {
	s := a.standing(l.Ref)
	switch p := l.Post; {
	case p.Text != nil:
		s.text = p.Text.Markdown
		if !p.Text.Notice {
			a.newest = l.Ref
		}
	case p.File != nil:
		s.file = true
	case p.Steps != nil:
		s.version, s.done = p.Steps.Version, p.Steps.Done
	case p.Approval != nil:
		s.tell(p.Approval)
	}
}

// converse takes in lines and interrupts until it ends, with errEnd or for
// worse.
func (a *Adapter) converse(ctx context.Context, lines, late <-chan typed) error {
	var text paragraph
	for {
		next, err := a.ready(lines, text.open())
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.changed:
		case <-a.keys:
			err = a.interrupt(ctx)
		case <-a.o.Interrupts:
			err = a.interrupt(ctx)
		case s := <-a.codes:
			err = a.code(ctx, s)
		case l := <-next:
			err = a.line(ctx, &text, l)
		case l := <-late:
			err = a.line(ctx, &text, l)
		}
		if err != nil {
			return err
		}
	}
}

// ready gives the lines when the next one may be read: when the bot waits for it,
// or at any time when a person types it.
func (a *Adapter) ready(lines <-chan typed, more bool) (<-chan typed, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	attends := a.gate.attends()
	if a.gate.rest() {
		if err := a.flush(); err != nil {
			return nil, err
		}
	}
	if attends || a.con.editor != nil {
		return lines, a.con.prompt(more)
	}
	if a.o.Screen.Prompt {
		return lines, nil
	}
	return nil, nil
}

// line takes in one line of input, or the end of it.
func (a *Adapter) line(ctx context.Context, text *paragraph, l typed) error {
	if l.err != nil {
		return a.last(ctx, text, l.err)
	}
	if s, ok := a.asksCode(l.text); ok {
		return a.code(ctx, s)
	}
	a.mu.Lock()
	a.con.prompted = false // the person ended that line
	a.mu.Unlock()
	s, done := text.add(l)
	if !done {
		return nil
	}
	return a.take(ctx, s)
}

// last takes in what was typed before the input ended, and leaves once the
// bot is at rest.
func (a *Adapter) last(ctx context.Context, text *paragraph, cause error) error {
	if text.open() {
		if err := a.take(ctx, text.rest()); err != nil {
			return err
		}
	}
	if !errors.Is(cause, io.EOF) {
		return fmt.Errorf("read input: %w", cause)
	}
	if a.o.Screen.Live && a.unfinished() {
		if err := a.say("leaving once this has ended; Ctrl-C leaves now"); err != nil {
			return err
		}
	}
	for a.unfinished() {
		if err := a.desert(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.changed:
		case <-a.keys:
			return a.leave()
		case <-a.o.Interrupts:
			if err := a.interrupt(ctx); err != nil {
				return err
			}
		}
	}
	return a.leave()
}

// unfinished says whether something that was begun has not ended.
func (a *Adapter) unfinished() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.gate.rest() || slices.ContainsFunc(a.asks, func(k *ask) bool { return !k.left })
}

// desert has the calls cancelled that wait for an approval, once all else is at rest:
// nobody is left to decide them.
func (a *Adapter) desert(ctx context.Context) error {
	a.mu.Lock()
	a.gate.over = true
	fresh := a.gate.rest() && slices.ContainsFunc(a.asks, func(k *ask) bool { return !k.left })
	for _, k := range a.asks {
		k.left = k.left || fresh
	}
	a.mu.Unlock()
	if !fresh {
		return nil
	}
	defer a.wake() // where nothing comes of it, that is the end
	id := eventID(a.newID())
	return a.put(&a.gate.vote, func() (bool, error) { return a.o.Inbox.Left(ctx, Thread, a.o.User, id) })
}

// leave says what is left behind, and ends the conversation.
func (a *Adapter) leave() error {
	return a.locked(func() error {
		if err := a.flush(); err != nil {
			return err
		}
		var rows []row
		for _, k := range a.asks {
			rows = append(rows, aside(fmt.Sprintf("approval %d, %s, stays open and is asked again at the next start", k.number, k.want.Tool))...)
		}
		if len(rows) == 0 && !a.gate.rest() {
			rows = aside("the turn goes on when you come back")
		}
		if a.gate.halt {
			rows = nil // it is about to stop
		}
		if err := a.print(rows); err != nil {
			return err
		}
		return errEnd
	})
}

// interrupt acts on Ctrl-C: it stops what runs, or else leaves. The first one of
// a turn stops that turn, whatever was stopped before; one while the turn has
// not ended yet leaves.
func (a *Adapter) interrupt(ctx context.Context) error {
	a.mu.Lock()
	halting := a.gate.halt
	a.secret = nil
	busy := !a.gate.rest() || len(a.asks) > 0
	a.mu.Unlock()
	if halting || !busy {
		return a.leave()
	}
	if err := a.say("stopping; Ctrl-C again leaves"); err != nil {
		return err
	}
	return a.halt(ctx)
}

// take acts on a line.
func (a *Adapter) take(ctx context.Context, text string) error {
	a.mu.Lock()
	in := parse(text, a.asks)
	a.mu.Unlock()
	switch {
	case in.halt:
		return a.halt(ctx)
	case in.vote != nil && in.vote.coded():
		return a.askCode(ctx, in.vote.on)
	case in.vote != nil:
		return a.vote(ctx, in.vote)
	case in.say != "":
		return a.say(in.say)
	case in.attach != "":
		return a.attach(ctx, in.attach)
	case a.isThumb(in.message):
		return a.thumb(ctx, chat.NormalEmoji(in.message))
	case in.message != "":
		return a.message(ctx, in.message)
	}
	return nil
}

// isThumb says whether a line is nothing but what somebody thinks of the last answer,
// or asks for another try of it.
func (a *Adapter) isThumb(text string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	emoji := chat.NormalEmoji(text)
	return !a.newest.IsZero() && (emoji == chat.EmojiGood || emoji == chat.EmojiBad || emoji == chat.EmojiRetry)
}

func (a *Adapter) thumb(ctx context.Context, emoji string) error {
	a.mu.Lock()
	r := chat.Reaction{On: a.newest, By: a.o.User, Emoji: emoji}
	a.mu.Unlock()
	owed := new(bool)
	if emoji == chat.EmojiRetry {
		owed = &a.gate.vote
	} else if err := a.say("noted: " + emoji + " for the last answer"); err != nil {
		return err
	}
	id := eventID(a.newID())
	return a.put(owed, func() (bool, error) { return true, a.Reacted(ctx, r, false, id) })
}

func (a *Adapter) message(ctx context.Context, text string) error {
	id := a.newID()
	a.mu.Lock()
	m := chat.Message{Ref: messageRef(id), From: a.o.User, Text: text, Sent: a.o.Now(), Files: a.attached}
	a.attached = nil
	a.mu.Unlock()
	return a.put(&a.gate.reply, func() (bool, error) { return a.o.Inbox.Message(ctx, Thread, m, eventID(id)) })
}

func (a *Adapter) halt(ctx context.Context) error {
	id := eventID(a.newID())
	return a.put(&a.gate.halt, func() (bool, error) { return a.o.Inbox.Halt(ctx, Thread, a.o.User, id) })
}

// vote puts a decision as a click on a button: no program types here.
func (a *Adapter) vote(ctx context.Context, v *vote) error {
	if len([]rune(v.reason)) > front.MostReason {
		return a.say(fmt.Sprintf("a reason may have %d characters; nothing was decided", front.MostReason))
	}
	c := front.Click{Verb: v.verb, ID: eventID(a.newID()), Thread: Thread, Call: v.on.want.Call, Emoji: v.emoji, On: v.on.ref, By: a.o.User}
	c.Copied = v.reason == "" // then nobody asks why
	back := chat.Reaction{On: c.On, By: c.By, Emoji: c.Emoji, Removed: true, Way: chat.ByButton}
	return a.put(&a.gate.vote, func() (_ bool, err error) {
		mine := v.emoji
		if v.verb == "" {
			mine, err = "", a.Reacted(ctx, back, false, c.ID)
		} else {
			_, err = a.Click(ctx, c)
		}
		if err == nil && v.reason != "" {
			c.ID += "/reason"
			_, err = a.Sent(ctx, front.Sent{Click: c, Text: v.reason})
		}
		if err == nil {
			_ = a.locked(func() error { v.on.mine = mine; return nil })
		}
		return true, err
	})
}

// put puts something into the inbox. What it owes is noted first, since the
// sign of it may come before the inbox has returned. A person is told of a
// failure, and can try again; a script ends on it.
func (a *Adapter) put(owed *bool, put func() (fresh bool, err error)) error {
	a.mu.Lock()
	*owed = true
	a.mu.Unlock()
	fresh, err := put()
	if fresh && err == nil {
		return nil
	}
	a.mu.Lock()
	*owed = false
	a.mu.Unlock()
	if err == nil {
		return nil
	}
	return a.untaken(err)
}

// untaken tells a person that something was not taken in; a script ends on it.
func (a *Adapter) untaken(err error) error {
	if !a.o.Screen.Prompt {
		return fmt.Errorf("take in a line: %w", err)
	}
	return a.say("that was not taken in, as the store does not answer; please try again")
}

// Print writes a line of the program's own, above what is typed.
func (a *Adapter) Print(line string) {
	_ = a.locked(func() error { return a.print([]row{{cleanLine(line), plain}}) }) // the screen is gone
}

// say prints a remark of the adapter's own.
func (a *Adapter) say(text string) error {
	return a.locked(func() error { return a.print(aside(text)) })
}

func (a *Adapter) locked(f func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return f()
}
