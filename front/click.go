package front

import (
	"nod/chat"
	"nod/chat/form"
)

// Verb is the meaning of a button, or of the form behind it.
type Verb string

// The verbs of buttons.
const (
	Approve  Verb = "approve"
	Grant    Verb = "grant" // approve, and the same call for a while
	Deny     Verb = "deny"
	Edit     Verb = "edit"  // opens a form with the arguments of a call that waits
	Rerun    Verb = "rerun" // opens a form with the arguments of a call of a turn that is over
	Good     Verb = "good"
	Bad      Verb = "bad"   // asks once what was wrong
	TryAgain Verb = "again" // another try of an answer
	Stop     Verb = "stop"
)

// Click is what somebody did with a button. A wire fills in what its button holds.
type Click struct {
	Verb   Verb
	ID     string // of the event: the same click has the same one
	Thread chat.ThreadID
	Call   string
	Digest string          // how the digest of the card begins
	Emoji  string          // for which the button stands; "" for none
	On     chat.MessageRef // the message with the button, or the answer that it is about
	By     chat.User       // Barred where they are not heard
	Copied bool            // the card stands in another place than the conversation
}

// Sent is a form that somebody sent, or closed.
type Sent struct {
	Click
	Fields []form.Filled // of arguments
	Text   string        // of a form that asks in words
	Closed bool          // it was closed, and nothing was sent
}

// Answer is what the person who clicked or sent a form gets; the zero Answer is none.
type Answer struct {
	Form  *Form
	Alone string // a text in CommonMark that nobody else sees
	Wrong *form.Wrong
}

// Form is a form that opens for one person. It is about the click that opened it, which
// comes back with what is sent.
type Form struct {
	Click
	Title  string
	Note   string       // before everything else
	Fields []form.Field // of arguments; none: it asks in words
	Hint   string       // in the field of a form that asks in words
	Long   bool         // that field has several lines
	Most   int          // its longest text, in characters
	Closes bool         // that it is closed without being sent is wanted too
}
