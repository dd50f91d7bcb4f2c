package approval

import (
	"slices"
	"strings"

	"nod/agent/phrase"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Judged tells a person who denied a call the outcome: why the vote does not count, or
// that the call is denied; "" before it is judged.
func Judged(entries []memory.Entry, call string, by chat.UserID) string {
	for _, e := range slices.Backward(entries) {
		v, ok := e.Body.(memory.Vote)
		switch {
		case !ok || v.Call != call || v.By.ID != by || v.Verdict != memory.Deny:
		case v.Counts:
			return "The call is denied."
		default:
			return Uncounted(v)
		}
	}
	return ""
}

// Uncounted tells a person why their vote does not count.
func Uncounted(v memory.Vote) string {
	if v.Reason == NeedsCode {
		return v.Reason + "."
	}
	return "Your reaction does not count: " + v.Reason + "."
}

// Alone says whether somebody is told alone that their vote does not count. The word
// `allow` has its answer in the thread, unless it needs a code.
func Alone(v memory.Vote) bool { return v.Grant == nil || v.Button || v.Reason == NeedsCode }

// Coded is the vote of a person who sent a code that is right. Refused says why there is
// none.
func Coded(entries []memory.Entry, code chat.Code) (r memory.Reaction, refused string) {
	c := thread.Read(entries).Calls[code.Call]
	switch {
	case c == nil || c.Asked == nil || !c.Pending() || len(c.Asked.Rules.Approve) == 0:
		return r, "This approval is over"
	case c.Card.Ref.IsZero() && code.Digits != "": // the log does not say yet where it stands
		return r, "The card is still on its way; send the code again"
	case !strings.HasPrefix(c.Asked.Digest, code.Digest) || code.Digest == "":
		return r, "Somebody has changed it meanwhile; look at the card again"
	}
	r.Reaction = chat.Reaction{On: c.Card.Ref, By: code.By, Emoji: chat.NormalEmoji(c.Asked.Rules.Approve[0]), Button: true, Way: chat.ByCode, Digest: c.Asked.Digest, Grant: code.Grant}
	return r, ""
}

// NoMore tells a person whose approval came that an earlier one ended with it.
func NoMore(v memory.Vote) string {
	return phrase.Name(v.By) + "'s approval does not count any more: " + v.Reason + "."
}

// NotChanged tells a person why their change is refused.
func NotChanged(why string) string { return "I did not change it: " + why + "." }

// Unbegun is the result of a call that this process did not run; sure says that it never
// began.
func Unbegun(c memory.Call, sure bool) memory.Result {
	if !sure {
		return UnknownOutcome(c)
	}
	return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: "The call did not run: the store was away at that moment. Call it again if it is still wanted."}
}
