// Package chat is the vocabulary that everything in nod speaks about people and
// what they write: threads, users, messages, reactions, and the posts that nod
// itself makes. It knows no platform, does no I/O, and imports the standard
// library only; adapters translate their platform into these words on the way
// in (from.go) and out of them on the way out (to.go).
package chat

import (
	"slices"
	"strings"
	"time"
)

// User is the author of a message or reaction. Name is for display and may be empty; no
// decision depends on it.
type User struct {
	ID   UserID `json:"id"`
	Name string `json:"name,omitempty"`
	Bot  bool   `json:"bot,omitempty"`
	// Zone is the name of the time zone in which this person is, such as
	// Europe/Berlin, where the platform tells it.
	Zone string `json:"zone,omitempty"`
	// Barred says why this person may never approve, in words for them: somebody of
	// another organisation, or a guest. Empty for everybody else.
	Barred string `json:"barred,omitempty"`
	// Unheard says that the bot does not listen to them any more, of somebody who was just
	// looked up.
	Unheard bool `json:"-"`
	// Kind says what tells this person from a colleague, where the platform does: guest, or
	// other organisation. Cards show it beside the name, which anybody may take.
	Kind string `json:"kind,omitempty"`
}

// AlertUser is the author of alerts. No platform has such an id.
func AlertUser(name string) User {
	return User{ID: UserID(alertID + name), Name: "alert " + name, Bot: true}
}

const alertID = "alert:"

// Alert is the name of the alert whose author this is; "" for everybody else.
func (u User) Alert() string {
	name, _ := strings.CutPrefix(string(u.ID), alertID)
	if name == string(u.ID) {
		return ""
	}
	return name
}

// MayWrite says whether they may write facts down: no guest, no program, and nobody of
// another organisation.
func (u User) MayWrite() bool { return u.Kind == "" && u.Barred == "" && !u.Bot }

// Includes says whether somebody is one of these people.
func Includes(users []User, who UserID) bool {
	return slices.ContainsFunc(users, func(u User) bool { return u.ID == who })
}

// Display is the name for people to read, or the id where there is none.
func (u User) Display() string {
	if u.Name != "" {
		return u.Name
	}
	return string(u.ID)
}

// Message is a person's message, in readable text: mentions and links are already
// words. Sent is the platform's clock. Compare it with messages of the same platform,
// never with the store's clock.
type Message struct {
	Ref    MessageRef `json:"ref,omitzero"`
	From   User       `json:"from"`
	Text   string     `json:"text"`
	Sent   time.Time  `json:"sent,omitzero"`
	Quoted []Quote    `json:"quoted,omitempty"` // older messages that it refers to: data, never orders
	Files  []File     `json:"files,omitempty"`
	// Aside says that the message calls nobody. People said it to each other in a
	// followed thread; it is context for later questions.
	Aside bool `json:"aside,omitempty"`
	// Outside says that it is content from outside: the words of a bot, or of a person who
	// is not heard. It is an aside, and never a word or a vote.
	Outside bool `json:"outside,omitempty"`
	// Eyes says that for a while the adapter may search the platform with its author's eyes.
	Eyes bool `json:"eyes,omitempty"`
	// About says that Ref is somebody else's message, which this one asks about: edits
	// of that message change nothing here.
	About bool `json:"about,omitempty"`
}

// FromOthers lists the texts in a message that are content from outside.
func (m Message) FromOthers() []Quote {
	if !m.Outside || m.Text == "" {
		return m.Quoted
	}
	return append(slices.Clip(m.Quoted), Quote{From: m.From, Text: m.Text})
}

// Quote is somebody's earlier message that came along with a newer one.
type Quote struct {
	From User   `json:"from"`
	Text string `json:"text"`
	// Ref is the message, where the adapter knows it. It is for the inbox only, which leaves
	// out messages that were erased with their author.
	Ref MessageRef `json:"-"`
	// Own says that the text is a note of the bot about the thread, and nobody's content.
	Own bool `json:"own,omitempty"`
}

// File is something attached to a message. Blob names its content in the
// store; it is empty when the content was too large or could not be had.
type File struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	Size      int64  `json:"size,omitempty"` // bytes
	Blob      string `json:"blob,omitempty"`
	Text      string `json:"text,omitempty"` // the beginning of a text file, for the model; at most FileText bytes
	// Quiet says that it keeps a result that was too long for the model whole: it
	// is there to be read on, and is not posted.
	Quiet bool `json:"quiet,omitempty"`
	// Refused says why the content was not kept, where it was for want of room.
	Refused string `json:"refused,omitempty"`
}

// FileText is how much of an attached text file goes into the message itself.
const FileText = 8 << 10

// Reaction is an emoji that somebody put on a message, or took back. Emoji is
// in the form that [NormalEmoji] gives.
type Reaction struct {
	On      MessageRef `json:"on"`
	By      User       `json:"by"`
	Emoji   string     `json:"emoji"`
	Removed bool       `json:"removed,omitempty"`
	// Button says that it was a click on a button, which stands for the emoji.
	Button bool `json:"button,omitempty"`
	// Way is how it was given; empty: as a reaction.
	Way Way `json:"way,omitempty"`
	// Digest, of a code, is the digest of the arguments that it is for.
	Digest string `json:"digest,omitempty"`
	// Found says that the reaction was found after the fact rather than heard
	// as it happened, so that the order among such reactions is not known.
	Found bool `json:"found,omitempty"`
	// Grant, of an approval, asks that the same call need no other one for a while.
	Grant *Grant `json:"grant,omitempty"`
}

// Grant says for how long, and how often, a call is allowed again; 0: as long or
// as often as the configuration lets it be.
type Grant struct {
	For  time.Duration `json:"for,omitempty"`
	Uses int           `json:"uses,omitempty"`
}

// Standing is the store's knowledge of a thread before an event of it is put.
type Standing struct {
	Known   bool      // somebody called the bot into it before
	Running bool      // a turn is under way
	Horizon time.Time // platform's time of the last forget: nothing sent before it comes back
	First   time.Time // platform's time of the earliest message in the store: earlier ones were quoted then
	Last    time.Time // platform's time of the latest message that was put
	Callers []UserID  // who has called the bot in it
	Muted   bool      // it answers only when it is mentioned
}

// Watermark says how far a thread was heard.
type Watermark struct {
	Thread ThreadID
	Last   MessageRef
	Sent   time.Time // platform's clock
}

// Pending is an approval message without a decision, with the approvals that
// count so far.
type Pending struct {
	Thread   ThreadID
	Call     string
	Ref      MessageRef
	Approve  []string // emoji
	Deny     []string
	Approved []Reaction
	Votes    int  // how many were judged so far, those that don't count too
	More     bool // another card of the same approval comes next, in another place
}

// Line is one line of a conversation as a person sees it: a Message of
// somebody's, or a Post of the bot's with the reference under which it stands.
type Line struct {
	At      time.Time
	Message *Message
	Post    *Post
	Ref     MessageRef
	// Elsewhere is where it stands, when that is another place than the conversation.
	Elsewhere ThreadID
}
