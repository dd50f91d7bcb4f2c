package terminal

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"golang.org/x/term"

	"nod/chat"
	"nod/front"
)

// A call may need a code, which is asked for when the person approves. On a live screen the
// keys of that line reach neither the screen nor the line editor and its history.

// secret is a code that is being typed.
type secret struct {
	on *ask
	of chat.Code
}

// escapes are what a key or a paste sends beside its characters.
var escapes = regexp.MustCompile(`\x1b\[[0-9;]*[@-~]`)

// askCode asks for the code of an approval, if the person has one.
func (a *Adapter) askCode(ctx context.Context, on *ask) error {
	if a.o.Screen.Prompt && !a.o.Screen.Live {
		return a.say("this terminal would show the code; use one that knows escapes, or deny")
	}
	s := secret{on, chat.Code{Call: on.want.Call, By: a.o.User, Digest: on.want.Digest}}
	refused, err := a.o.Inbox.Code(ctx, Thread, s.of)
	switch {
	case err != nil:
		return a.untaken(err)
	case refused != "":
		return a.say(refused)
	}
	a.mu.Lock()
	a.secret = &s
	a.mu.Unlock()
	return a.say(fmt.Sprintf("type the code for approval %d, %s; it is not shown", on.number, s.of.Digest[:min(len(s.of.Digest), front.DigestDigits)]))
}

// hide takes the keys of a code, and gives those behind it.
func (a *Adapter) hide(keys []byte) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.secret == nil {
		return keys
	}
	keys = escapes.ReplaceAll(keys, nil)
	for i, key := range keys {
		switch s := &a.secret.of.Digits; {
		case key == '\r' || key == '\n':
			a.codes <- *a.secret
			a.secret = nil
			return keys[i+1:]
		case (key == '\b' || key == '\x7f') && *s != "":
			*s = (*s)[:len(*s)-1]
		case key >= '0' && key <= '9':
			*s += string(rune(key))
		}
	}
	return nil
}

// asksCode gives the code that the next line of a pipe is.
func (a *Adapter) asksCode(line string) (s secret, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.secret == nil || a.o.Screen.Live {
		return s, false
	}
	s, a.secret = *a.secret, nil
	s.of.Digits = line
	return s, true
}

// code puts the vote with a code.
func (a *Adapter) code(ctx context.Context, s secret) error {
	if s.of.Digits == "" {
		return a.say("no code was sent")
	}
	refused, id := "", eventID(a.newID())
	err := a.put(&a.gate.vote, func() (fresh bool, err error) {
		if refused, err = a.o.Inbox.Code(ctx, Thread, s.of, id); err != nil || refused != "" {
			return false, err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		s.on.mine, _ = first(s.on.want.Approve)
		return true, nil
	})
	if err != nil || refused == "" {
		return err
	}
	return a.say(refused)
}

// coded says whether a vote needs a code.
func (v *vote) coded() bool {
	approves := func(e string) bool { return chat.NormalEmoji(e) == v.emoji }
	return chat.NeedsCode(v.on.want.Ways) && !v.removed && slices.ContainsFunc(v.on.want.Approve, approves)
}

// discreet is the history of the line editor, without codes.
type discreet struct{ term.History }

// Add implements term.History.
func (d discreet) Add(line string) {
	if _, ok := chat.WithoutCode(line); !ok {
		d.History.Add(line)
	}
}
