package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"nod/chat"
)

// PostKey is the key of a post: its name in the thread, and a digest of what is
// shown, so that a post that shows something else never has the same key. A
// platform that keeps keys may therefore give an older post back for one.
func PostKey(name, shown string) string {
	sum := sha256.Sum256([]byte(shown))
	return name + "~" + hex.EncodeToString(sum[:5])
}

// PostName is the name in a key. Keys of earlier builds have no digest.
func PostName(key string) string {
	name, _, _ := strings.Cut(key, "~")
	return name
}

// AskName is the name of the post that asks for the approval of a call.
func AskName(call string) string { return "ask/" + call }

// Asks gives the call whose approval a post asks for.
func Asks(key string) (call string, ok bool) { return strings.CutPrefix(PostName(key), "ask/") }

// Effects is what entries change beside the log they enter. Every store
// applies them in the transaction that appends the entries, and so no index
// can differ from the log.
type Effects struct {
	Refs    []chat.MessageRef // these messages now name this thread
	Ask     []PendingApproval // these approvals wait
	Settled []string          // these calls' approvals wait no more
	Audit   []AuditLine
	Last    Watermark // the latest message, when there is one
	Base    uint64    // when not 0: the log is loaded from this Seq on
	Erase   bool      // what is before Base is deleted for good, Started excepted
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
			f.Refs = append(f.Refs, b.Ref)
			f.Last = Watermark{Thread: thread, Last: b.Ref, Sent: b.Sent}
		}
	case Posted:
		f.posted(thread, b)
	case Decided:
		f.Settled = append(f.Settled, b.Call)
	case Trimmed:
		f.Base = max(f.Base, b.Before)
	case Forgot:
		f.Base, f.Erase = max(f.Base, b.Before), true
	}
}

func (f *Effects) posted(thread chat.ThreadID, b Posted) {
	if b.Ref.IsZero() {
		return
	}
	f.Refs = append(f.Refs, b.Ref)
	if call, ok := Asks(b.Key); ok {
		f.Ask = append(f.Ask, PendingApproval{Thread: thread, Call: call, Ref: b.Ref})
	}
}

// AuditLine is one line of the audit log: a decision, a reaction with the
// reason why it was ignored, or a side effect that ran. It holds digests
// and ids, never a text.
type AuditLine struct {
	At      time.Time     `json:"at"`
	Thread  chat.ThreadID `json:"thread"`
	Seq     uint64        `json:"seq"`
	Event   string        `json:"event"` // asked, vote, ignored, decided, started, result
	Call    string        `json:"call,omitempty"`
	Tool    string        `json:"tool,omitempty"`
	Digest  string        `json:"digest,omitempty"`
	By      []chat.UserID `json:"by,omitempty"`
	Verdict string        `json:"verdict,omitempty"`
	Reason  string        `json:"reason,omitempty"`
}

func audit(thread chat.ThreadID, e Entry) (AuditLine, bool) {
	l := AuditLine{At: e.At, Thread: thread, Seq: e.Seq}
	switch b := e.Body.(type) {
	case Asked:
		l.Event, l.Call, l.Tool, l.Digest = "asked", b.Call, b.Tool, b.Digest
		l.By = []chat.UserID{b.Requester.ID}
	case Vote:
		l.Event, l.Call, l.Verdict, l.Reason = "vote", b.Call, string(b.Verdict), b.Reason
		l.By = []chat.UserID{b.By.ID}
		if !b.Counts {
			l.Event = "ignored"
		}
	case Decided:
		l.Event, l.Call, l.Verdict, l.Reason = "decided", b.Call, string(b.Outcome), b.Reason
		for _, u := range b.By {
			l.By = append(l.By, u.ID)
		}
	case Started:
		l.Event, l.Call, l.Tool, l.Digest = "started", b.Call, b.Tool, b.Digest
	case Result:
		l.Event, l.Call, l.Tool, l.Verdict = "result", b.Call, b.Tool, string(b.State)
		l.Reason = b.Reason
	default:
		return l, false
	}
	return l, true
}
