package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"nod/chat"
)

// TurnOf reads from the key of an answer or of steps of which turn they are: the Seq of the
// message that it answers. A card tells nothing, as copies of it stand in other threads.
func TurnOf(key string) (turn uint64, ok bool) {
	kind, name, _ := strings.Cut(key, "/")
	if kind != "answer" && kind != "steps" {
		return 0, false
	}
	digits := name[:len(name)-len(strings.TrimLeft(name, "0123456789"))]
	if turn, err := strconv.ParseUint(digits, 10, 64); err == nil {
		return turn, turn > 0
	}
	return 0, false
}

// PostKey is the key of a post: its name in the thread, and a digest of the shown text.
// So a post with another text has another key, and a platform that keeps keys may
// return the earlier post for one.
func PostKey(name, shown string) string { return name + "~" + Short(shown) }

// Short is as much of a word's digest as names need: 40 bits of it, in hex.
func Short(word string) string {
	sum := sha256.Sum256([]byte(word))
	return hex.EncodeToString(sum[:5])
}

// PostName is the name in a key.
func PostName(key string) string {
	name, _, _ := strings.Cut(key, "~")
	return name
}

// AskName is the name of the post for a call's approval, or for one of the times that
// it is asked for; see [Nth].
func AskName(call string) string { return "ask/" + call }

// Nth names a repeated request for a call; again counts the earlier ones.
func Nth(call string, again int) string {
	if again == 0 {
		return call
	}
	return call + "!" + strconv.Itoa(again)
}

// Asks gives the call whose approval a post asks for.
func Asks(key string) (call string, ok bool) {
	name, ok := strings.CutPrefix(PostName(key), "ask/")
	call, _, _ = strings.Cut(name, "!")
	return call, ok
}

// Effects are the changes of entries beside the log. Every store applies them in the
// transaction that appends the entries, so no index can differ from the log.
type Effects struct {
	// These messages now name this thread: those of its channel, by which a reaction finds
	// it, and those that the bot posted elsewhere.
	Refs, Elsewhere []chat.MessageRef

	Ask     []PendingApproval // these approvals wait
	Settled []string          // these calls' approvals wait no more
	Audit   []AuditLine
	Last    Watermark // the latest message, when there is one
	Base    uint64    // when not 0: the log is loaded from this Seq on
	Erase   bool      // entries before Base are deleted for good, except Started
}

// EffectsOf computes the effects of entries that enter the log of a thread.
func EffectsOf(thread chat.ThreadID, entries []Entry) Effects {
	var f Effects
	for _, e := range entries {
		f.add(thread, e)
	}
	return f
}

func (f *Effects) add(thread chat.ThreadID, e Entry) {
	if line, ok := audit(thread, e); ok {
		f.Audit = append(f.Audit, line)
	}
	switch b := e.Body.(type) {
	case Message:
		if !b.Ref.IsZero() {
			if own(thread, b.Ref) {
				f.Refs = append(f.Refs, b.Ref)
			}
			f.Last = Watermark{Thread: thread, Last: b.Ref, Sent: b.Sent}
		}
	case Posted:
		f.posted(thread, b)
	case Decided:
		f.Settled = append(f.Settled, b.Call)
	case Trimmed:
		f.Base = max(f.Base, cmp.Or(b.From, b.Before))
	case Incidents:
		f.Base, f.Erase = max(f.Base, b.Done+1), true
	case Forgot:
		f.Base, f.Erase = max(f.Base, b.Before), true
	}
}

func own(thread chat.ThreadID, ref chat.MessageRef) bool {
	return ref.Platform == thread.Platform && ref.Channel == thread.Channel
}

func (f *Effects) posted(thread chat.ThreadID, b Posted) {
	if b.Ref.IsZero() {
		return
	}
	if own(thread, b.Ref) {
		f.Refs = append(f.Refs, b.Ref)
	} else {
		f.Elsewhere = append(f.Elsewhere, b.Ref)
	}
	if call, ok := Asks(b.Key); ok {
		f.Ask = append(f.Ask, PendingApproval{Thread: thread, Call: call, Ref: b.Ref})
	}
}
