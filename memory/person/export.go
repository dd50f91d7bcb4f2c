package person

import (
	"time"

	"nod/chat"
	"nod/memory"
)

// Line is one thing that a person wrote or did.
type Line struct {
	Kind    string        `json:"kind"` // message, vote, file, fact
	Thread  chat.ThreadID `json:"thread"`
	At      time.Time     `json:"at"`
	Text    string        `json:"text,omitempty"`
	Name    string        `json:"name,omitempty"` // of a file
	Call    string        `json:"call,omitempty"`
	Verdict string        `json:"verdict,omitempty"`
	Reason  string        `json:"reason,omitempty"` // why they denied, in their words
}

// Export lists what a log holds of the person.
func Export(thread chat.ThreadID, log []memory.Entry, is Is) (out []Line) {
	for _, e := range log {
		at := Line{Thread: thread, At: e.At}
		switch b := e.Body.(type) {
		case memory.Message:
			out = append(out, wrote(at, b.Message, is)...)
		case memory.Vote:
			if is(b.By.ID) {
				at.Kind, at.Call, at.Verdict = "vote", b.Call, string(b.Verdict)
				out = append(out, at)
			}
		case memory.Decided:
			if len(b.By) == 1 && is(b.By[0].ID) && b.Reason != "" {
				at.Kind, at.Call, at.Verdict, at.Reason = "vote", b.Call, string(b.Outcome), b.Reason
				out = append(out, at)
			}
		}
	}
	return out
}

// wrote lists a message of theirs with its files, or their words in the message of
// somebody else.
func wrote(at Line, m chat.Message, is Is) (out []Line) {
	at.Kind = "message"
	for _, q := range m.Quoted {
		if is(q.From.ID) && !is(m.From.ID) {
			at.Text = q.Text
			out = append(out, at)
		}
	}
	if !is(m.From.ID) {
		return out
	}
	at.Text = m.Text
	out = append(out, at)
	at.Kind, at.Text = "file", ""
	for _, f := range m.Files {
		at.Name = f.Name
		out = append(out, at)
	}
	return out
}
