package terminal

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/term"

	"nod/chat"
	"nod/chat/form"
	"nod/front"
)

// A call may need a code, which is asked for when the person approves. On a live screen the
// keys of that line reach neither the screen nor the line editor and its history.

// secret is a code that is being typed, for a form that the front opened.
type secret struct {
	on     *ask
	form   front.Click
	digits string
}

// escapes are what a key or a paste sends beside its characters.
var escapes = regexp.MustCompile(`\x1b\[[0-9;]*[@-~]`)

// askCode asks for the code of an approval, if the person has one.
func (a *Adapter) askCode(ctx context.Context, on *ask) error {
	if a.o.Screen.Prompt && !a.o.Screen.Live {
		return a.say("this terminal would show the code; use one that knows escapes, or deny")
	}
	ans, err := a.Click(ctx, front.Click{Verb: front.Code, ID: eventID(a.newID()), Thread: Thread, Call: on.want.Call, Digest: on.want.Digest, On: on.ref, By: a.o.User})
	switch {
	case err != nil:
		return a.untaken(err)
	case ans.Form == nil:
		return a.say(strings.TrimSuffix(ans.Alone, "."))
	}
	c := ans.Form.Click
	c.Digest = on.want.Digest // a newer card than the one that is shown here takes no code
	a.mu.Lock()
	a.secret = &secret{on: on, form: c}
	a.mu.Unlock()
	return a.say(fmt.Sprintf("type the code for approval %d, %s; it is not shown", on.number, on.want.Digest[:min(len(on.want.Digest), front.DigestDigits)]))
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
		switch s := &a.secret.digits; {
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
	s.digits = line
	return s, true
}

// code puts the vote with a code.
func (a *Adapter) code(ctx context.Context, s secret) error {
	if s.digits == "" {
		return a.say("no code was sent")
	}
	var ans front.Answer
	err := a.put(&a.gate.vote, func() (fresh bool, err error) {
		ans, err = a.Sent(ctx, front.Sent{Click: s.form, Fields: []form.Filled{{ID: "code", Value: s.digits}}})
		if fresh = err == nil && ans.Wrong == nil; fresh {
			_ = a.locked(func() error { s.on.mine = first(s.on.want.Approve); return nil })
		}
		return fresh, err
	})
	if err != nil || ans.Wrong == nil {
		return err
	}
	return a.say(ans.Wrong.Why)
}

// coded says whether a vote needs a code.
func (v *vote) coded() bool { return chat.NeedsCode(v.on.want.Ways) && v.verb == front.Approve }

// discreet is the history of the line editor, without codes.
type discreet struct{ term.History }

// Add implements term.History.
func (d discreet) Add(line string) {
	if _, ok := chat.WithoutCode(line); !ok {
		d.History.Add(line)
	}
}
